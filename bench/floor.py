"""The floor of the machine as a query: DuckDB decodes, sorts and makes versions in one pass."""

from bench.cases.columns import COLUMNS, KEY

_TYPES = {"STRING": "VARCHAR"}


def query(*, wrapped: bool) -> str:
    """The history of the records of `$topic` in `$files`; `wrapped` ones embed their schemas."""
    row = ", ".join(f'"{c.name}": "{_TYPES.get(c.sql, c.sql)}"' for c in COLUMNS)
    envelope = (
        f'{{"before": {{"{KEY}": "BIGINT"}}, "after": {{{row}}}, "op": "VARCHAR", '
        '"source": {"lsn": "BIGINT", "ts_us": "BIGINT"}}'
    )
    structure = f'{{"payload": {envelope}}}' if wrapped else envelope
    event = f"from_json(decode(value), '{structure}')" + (".payload" if wrapped else "")
    columns = ", ".join(f"event.after.{c.name} AS {c.name}" for c in COLUMNS)
    return f"""
        WITH decoded AS (
            SELECT {event} AS event FROM read_parquet($files)
            WHERE topic = $topic AND value IS NOT NULL
        ), placed AS (
            SELECT event, event.source.ts_us AS valid_from,
                   lead(event.source.ts_us) OVER (
                       PARTITION BY coalesce(event.after.{KEY}, event.before.{KEY})
                       ORDER BY event.source.lsn
                   ) AS valid_to
            FROM decoded
        )
        SELECT {columns}, valid_from, valid_to, valid_to IS NULL AS is_current
        FROM placed WHERE event.op <> 'd'
    """  # noqa: S608 - built from this module's own words
