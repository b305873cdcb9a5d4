"""A record as one line, so that a person can follow the stream of a failing example."""

import json

from strandline.changes.record import Record

_ORDER = (
    "snapshot", "file", "pos", "row", "gtid", "sequence", "lsn", "txId", "commit_lsn", "change_lsn",
    "event_serial_no", "commit_scn", "scn", "txSeq", "rs_id", "commit_time", "tablet_id",
)  # fmt: skip


def tell(record: Record) -> str:
    """`topic partition:offset op key before -> after {position} {headers}`."""
    at, value = record.at, _payload(record.value)
    head = f"{at.topic} {at.partition}:{at.offset}"
    if not isinstance(value, dict) or not isinstance(value.get("source"), dict):
        return f"{head} {_brief(_payload(record.key))} {_brief(value)}"
    source = value["source"]
    place = {name: source[name] for name in _ORDER if source.get(name) not in {None, "false"}}
    headers = {name: _payload(data) for name, data in record.headers}
    before, after = _brief(value.get("before")), _brief(value.get("after"))
    order = (value.get("transaction") or {}).get("total_order")
    key = _brief(_payload(record.key))
    return (
        f"{head} {value.get('op')} {key} {before} -> {after}"
        f" {place} {_brief(headers)} order {order} version {source.get('version')}"
    )


def _payload(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        document = json.loads(data)
    except ValueError:
        return repr(data)
    if isinstance(document, dict) and document.keys() == {"schema", "payload"}:
        return document["payload"]
    return document


def _brief(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
