"""The benchmark: what a run costs, beside what people write by hand and beside the machine's floor.

`stream` makes the changes of a table as columns, `envelope` their Debezium JSON, `landed` the
landing table; `case` keeps what was made on disk. `contenders` apply a case's batches, each in a
process of its own (`child`), which `race` starts in turns. `judge` compares every answer with the
history that follows from the stream itself (`reference`). `report` and `plot` write `results/`.

    python -m bench --small          everything in a few minutes
    python -m bench --help           sizes, rounds, workloads and contenders
"""
