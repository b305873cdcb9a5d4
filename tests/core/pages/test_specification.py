"""Every JSON sample of the specification decodes to what its page says.

The samples and where they come from: `tests/fixtures/specification/README.md`. What they mean was
written down by reading the pages: `expected.json` beside it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from strandline.cells.rendering import plain
from strandline.cells.types import from_connect
from strandline.cells.values import decode as decode_value
from strandline.changes import scope
from strandline.changes.change import Change, Control, Fence, Op, Quarantined
from strandline.changes.position import major_of
from strandline.changes.record import Coordinates, Record
from strandline.changes.rules import TableRules
from strandline.connectors import CONNECTORS
from strandline.formats import capture, schema_history
from strandline.law import Histories, interpret
from strandline.law.decode.general import Decoded, Decoder, Outcome

FOLDER = Path(__file__).parents[2] / "fixtures" / "specification"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))
SOURCES = sorted(EXPECTED)


# What the engine is asked, and nothing else of it.


def decoded(source: str, record: Record, contract: Mapping[str, str] | None = None) -> Outcome:
    rules = TableRules(columns=tuple((contract or {}).items()))
    return Decoder(CONNECTORS[source], rules).decode(record)


def histories(source: str, records: Iterable[Record], *, told: bool = True) -> Histories:
    """`told`: whether the engine is told the connector, or finds it in the records."""
    return interpret(records, CONNECTORS[source] if told else None)


def schema_change(found: Control) -> schema_history.SchemaChange | None:
    return schema_history.schema_change(found.at, found.payload)


# The fixtures.


@dataclass(frozen=True, slots=True)
class Sample:
    """One fixture with its expectation."""

    source: str
    name: str
    expected: Mapping[str, Any]

    @property
    def path(self) -> Path:
        return FOLDER / self.source / self.name

    @property
    def fields(self) -> dict[str, Any]:
        return json.loads(self.path.read_text("utf-8"))

    @property
    def part(self) -> str | None:
        return self.fields.get("part")

    @property
    def record(self) -> Record:
        """The printed record, or the smallest record that the printed part makes."""
        if self.part is None:
            (record,) = capture.read([self.path])
            return record
        document = self.fields["document"]
        match self.part:
            case "key":
                return _record(key=document, value=None)
            case "source":
                whole = json.loads(
                    _named(self.source, self.expected["source_for"]).fields["payload"]
                )
                whole["payload"] |= json.loads(document)
                key = json.dumps(self.expected["key"])
                return _record(key, json.dumps(whole), whole["payload"]["ts_ms"])
            case "value":
                envelope = json.loads(document)
                whole = json.loads(
                    _named(self.source, self.expected["source_from"]).fields["payload"]
                )
                envelope["source"] = {**whole["payload"]["source"], **envelope["source"]}
                key = json.dumps(self.expected["key"])
                return _record(key, json.dumps(envelope), int(envelope["ts_ms"]))
            case _:
                return _record(key=None, value=document)


def _record(key: str | None, value: str | None, timestamp: int = 0) -> Record:
    at = Coordinates("part", 0, 0)
    return Record(at, timestamp, key and key.encode(), value and value.encode())


def _named(source: str, name: str) -> Sample:
    return Sample(source, name, EXPECTED[source]["files"][name])


SAMPLES = [_named(source, name) for source in SOURCES for name in EXPECTED[source]["files"]]


def those(*kinds: str, of: Iterable[Sample] = SAMPLES) -> pytest.MarkDecorator:
    """Parametrises a test by the samples whose expectation is of these kinds."""
    chosen = [sample for sample in of if sample.expected["is"] in kinds]
    ids = [f"{sample.source}/{sample.name.removesuffix('.json')}" for sample in chosen]
    return pytest.mark.parametrize("sample", chosen, ids=ids)


WHOLE = [sample for sample in SAMPLES if sample.part is None]


def canonical(key: Mapping[str, Any]) -> str:
    return json.dumps(key, separators=(",", ":"), ensure_ascii=False)


def row(cells: Mapping[str, object]) -> dict[str, object]:
    return {name: plain(value) for name, value in cells.items()}


def times(found: Change | Fence) -> dict[str, object]:
    time = found.time
    return {"best": plain(time.best), "quality": time.quality, "source": plain(time.source)}


def change_of(source: str, record: Record, contract: Mapping[str, str] | None = None) -> Change:
    found = decoded(source, record, contract)
    assert isinstance(found, Decoded), found
    return found.change


# The samples, one by one.


def test_every_fixture_has_an_expectation_and_every_expectation_a_fixture():
    fixtures = {f"{path.parent.name}/{path.name}" for path in FOLDER.glob("*/*.json")}
    assert fixtures == {f"{sample.source}/{sample.name}" for sample in SAMPLES}


def test_the_table_of_the_readme_names_every_fixture():
    text = (FOLDER / "README.md").read_text("utf-8")
    sections = {section.split("\n")[0].split()[0]: section for section in text.split("\n## ")[1:]}
    missing = [
        s.path for s in SAMPLES if f"| `{s.name}` | {s.fields['lines']} |" not in sections[s.source]
    ]
    assert missing == []


@those("change")
def test_a_change_has_its_operation_key_row_table_and_transaction(sample):
    change, expected = change_of(sample.source, sample.record), sample.expected
    assert (change.op, change.key) == (expected["op"], canonical(expected["key"]))
    assert (change.row if change.row is None else row(change.row)) == expected["cells"]
    assert (change.unset, change.unheld) == (frozenset(), frozenset())
    assert (change.moved_to, change.moved_from) == (None, None)
    assert (change.scope and scope.table(change.scope)) == expected["table"]
    if "tx_id" in expected:
        assert change.tx_id == expected["tx_id"]


@those("change")
def test_a_before_image_tells_the_row_from_others_under_its_key(sample):
    before = change_of(sample.source, sample.record).before
    sent = sample.expected.get("before")
    told = sent and {
        name: cell for name, cell in sent.items() if name not in sample.expected["key"]
    }
    assert (before and {n: cell for n, cell in before.items() if cell is not None}) == told


@pytest.mark.parametrize("source", SOURCES)
def test_a_before_image_is_the_whole_row_where_the_page_shows_one_for_a_delete(source):
    assert CONNECTORS[source].full_before is EXPECTED[source]["full_before"]


@those("change", "fence")
def test_a_time_is_believed_where_it_is_believable_and_kept_anyway(sample):
    found = decoded(sample.source, sample.record)
    assert times(found.change if isinstance(found, Decoded) else found) == sample.expected["time"]


@those("tombstone")
def test_a_tombstone_and_every_printed_key_identify_their_row(sample):
    change = change_of(sample.source, sample.record)
    assert (change.op, change.key) == (Op.TOMBSTONE, canonical(sample.expected["key"]))


@those("fence")
def test_a_truncate_is_a_fence_of_its_table(sample):
    found = decoded(sample.source, sample.record)
    assert isinstance(found, Fence), found
    assert scope.table(found.scope) == sample.expected["table"]


@those("control")
def test_a_marker_of_a_transaction_is_a_control_record(sample):
    found = decoded(sample.source, sample.record)
    assert isinstance(found, Control), found
    assert {name: found.payload[name] for name in sample.expected["payload"]} == (
        sample.expected["payload"]
    )


@those("schema_change")
def test_a_schema_change_says_database_statement_place_and_tables(sample):
    found, expected = decoded(sample.source, sample.record), sample.expected
    assert isinstance(found, Control), found
    told = schema_change(found)
    assert (told.database, told.ddl) == (expected["database"], expected["ddl"])
    assert (told.position, told.snapshot) == (expected["position"], expected["snapshot"])
    assert [
        {"kind": t.kind, "table": t.table, "key": list(t.key), "columns": [n for n, _ in t.columns]}
        for t in told.changes
    ] == [{**change, "columns": list(change["columns"])} for change in expected["changes"]]


@those("schema_change")
def test_a_schema_change_types_the_columns_of_records_without_schema(sample):
    told = schema_change(decoded(sample.source, sample.record))
    types = schema_history.history([told], CONNECTORS[sample.source], TableRules().epoch).tables
    assert {
        table: {n: of.spark for n, of in only.columns.items()} for table, (only,) in types.items()
    } == {change["table"]: change["columns"] for change in sample.expected["changes"]}


@those("no_row")
def test_a_signal_to_the_connector_is_no_change_of_a_row(sample):
    assert isinstance(decoded(sample.source, sample.record), Control | Quarantined)


@those("skeleton")
def test_a_skeleton_names_schema_and_payload(sample):
    pairs = json.loads(sample.fields["document"], object_pairs_hook=list)
    assert [name for name, _ in pairs] == sample.expected["names"]


@those("change", "tombstone", of=WHOLE)
def test_without_its_embedded_schemas_a_sample_is_the_same_change_by_the_table_s_contract(sample):
    record = sample.record
    bare = replace(record, key=_payload(record.key), value=_payload(record.value))
    change = change_of(sample.source, bare, EXPECTED[sample.source]["contract"])
    assert change == change_of(sample.source, record)


def _payload(data: bytes | None) -> bytes | None:
    return None if data is None else json.dumps(json.loads(data)["payload"]).encode()


# The samples of a page together.


@pytest.mark.parametrize("source", SOURCES)
def test_the_samples_of_a_page_are_ordered_by_its_log_and_not_by_a_clock(source):
    groups = EXPECTED[source]["order"]
    majors = [[_major(_named(source, name)) for name in group] for group in groups]
    assert [len(set(group)) for group in majors] == [1] * len(groups)
    assert [group[0] for group in majors] == sorted({group[0] for group in majors})


def _major(sample: Sample) -> str:
    found = decoded(sample.source, sample.record)
    return major_of(found.change.seq if isinstance(found, Decoded) else found.seq)


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
@pytest.mark.parametrize("source", SOURCES)
def test_the_samples_of_a_page_give_the_history_of_its_row(source, told):
    records = [sample.record for sample in WHOLE if sample.source == source]
    found = histories(source, records, told=told)
    assert found.counts.conserved
    assert found.counts.landed == len(records)
    rows = {
        table.topic: [
            {
                "key": json.loads(version.key),
                "op": version.op,
                "closed_by": version.closed_by,
                "cells": row(version.row),
            }
            for version in table.versions
        ]
        for table in found.tables
        if table.versions
    }
    assert rows == EXPECTED[source]["history"]


# Key moves: the pages tell them in words, so they are made of the printed delete and create.

MOVING = [source for source in SOURCES if "move" in EXPECTED[source]]


@dataclass(frozen=True, slots=True)
class Move:
    """The printed create, then what its page says an update of its key sends."""

    source: str

    @property
    def told(self) -> dict[str, Any]:
        return EXPECTED[self.source]["move"]

    @property
    def old(self) -> str:
        return canonical(self.told["from"])

    @property
    def new(self) -> str:
        return canonical(self.told["to"])

    def records(self) -> list[Record]:
        first = _named(self.source, self.told["create"]).record
        delete = _named(self.source, self.told["delete"]).record
        at = delete.at
        departure = replace(delete, at=_at(at, 10), headers=self._header("newkey", self.new))
        tombstone = replace(departure, at=_at(at, 11), value=None)
        arrival = Record(
            _at(at, 12),
            delete.timestamp,
            self._rekeyed(first.key, lambda document: document["payload"]),
            self._arrived(first.value, delete.value),
            self._header("oldkey", self.old),
        )
        return [first, departure, tombstone, arrival]

    def _header(self, name: str, key: str) -> tuple[tuple[str, bytes], ...]:
        return ((f"__debezium.{name}", key.encode()),) if self.told["headers"] else ()

    def _arrived(self, create: bytes, delete: bytes) -> bytes:
        """The create with the new key, at the place of the delete: both halves share it."""
        document = json.loads(self._rekeyed(create, lambda whole: whole["payload"]["after"]))
        source = json.loads(delete)["payload"]["source"]
        document["payload"]["source"] = {**source, **self.told.get("source_of_create", {})}
        return json.dumps(document).encode()

    def _rekeyed(self, data: bytes, row_of: Callable[[Any], dict[str, Any]]) -> bytes:
        document = json.loads(data)
        cells = row_of(document)
        for name, value in self.told["to"].items():
            wrapped = isinstance(cells[name], dict)
            cells[name] = {"value": value} if wrapped else value
        return json.dumps(document).encode()


def _at(at: Coordinates, offset: int) -> Coordinates:
    return replace(at, offset=at.offset + offset)


@pytest.mark.parametrize("source", [s for s in MOVING if EXPECTED[s]["move"]["headers"]])
def test_the_headers_of_a_key_move_name_the_other_key(source):
    move = Move(source)
    _, departure, tombstone, arrival = (change_of(source, r) for r in move.records())
    assert (departure.op, departure.key, departure.moved_to) == ("d", move.old, move.new)
    assert (tombstone.op, tombstone.key, tombstone.moved_to) == ("tombstone", move.old, move.new)
    assert (arrival.op, arrival.key, arrival.moved_from) == ("c", move.new, move.old)


@pytest.mark.parametrize("source", MOVING)
def test_a_key_move_as_its_page_tells_it_closes_the_old_key_and_opens_the_new(source):
    move = Move(source)
    (table,) = histories(source, move.records()).tables
    old, new = table.versions
    assert (old.key, old.closed_by, old.moved_to) == (move.old, "key_move", move.new)
    assert (new.key, new.closed_by, new.moved_from) == (move.new, None, move.old)
    assert (old.entity_id, table.orphaned_moves) == (new.entity_id, 0)


def test_the_datetime2_that_the_sql_server_page_converts_is_the_one_it_names():
    micros = from_connect({"type": "int64", "name": "io.debezium.time.MicroTimestamp"})
    assert plain(decode_value(1529507596945104, micros)) == "2018-06-20T15:13:16.945104"
