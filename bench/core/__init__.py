"""The core alone: records a second in one process on one core, beside DuckDB's single pass.

`records` makes what is measured, `subjects` is the law as it is today, `rows` are the lines of the
table with what they have to reach. `timing` races a subject against `unit`, `memory` watches a key
with very many changes, `page` writes `results/core.md`.

    python -m bench.core                  every row, a minute or two
    python -m bench.core decode history   some rows
"""
