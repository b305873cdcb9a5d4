"""Whatever the typed decoder accepts, the general one reads as the same row."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cases.language import cases
from samples.avro import Registry
from samples.events import Stream
from workloads import Choices, captured
from workloads.damage import damaged

from strandline.cells.instants import micros
from strandline.changes.position import major_of
from strandline.connectors import CONNECTORS
from strandline.formats.schema_history import SchemaHistory
from strandline.law.decode.general import Decoded, Decoder
from strandline.law.decode.typed import UNSENT, Typed
from strandline.sources import source as sources

READ = {"postgresql", "mysql", "mariadb", "oracle"}


def read(typed, records):
    return typed.read(
        [r.key for r in records],
        [r.value for r in records],
        [r.timestamp for r in records],
        [r.headers for r in records],
    )


def shown(shape, cells):
    """Cells by column, as they are written in Python, so that 1 is not TRUE and NaN is NaN."""
    return in_order(dict(zip(shape.names, cells, strict=True)))


def in_order(row):
    return {name: repr(row[name]) for name in sorted(row) if row[name] is not UNSENT}


def moved(change):
    other = change.moved_to or change.moved_from
    return None if other is None else (other, change.position.link)


def unset(shape, cells):
    return frozenset(n for n, cell in zip(shape.names, cells, strict=bool(cells)) if cell is UNSENT)


def disagreements(decoder, records):
    """How the rows that the typed decoder accepts differ from the general one's, and how many."""
    typed = Typed(decoder)
    rows, left = read(typed, records)
    assert sorted([*rows.record, *left]) == list(range(len(records)))
    found = []
    for n, place in enumerate(rows.record):
        outcome = decoder.decode(records[place])
        if not isinstance(outcome, Decoded):
            found.append((records[place], outcome))
            continue
        change, shape = outcome.change, typed.shapes[rows.shape[n]]
        own = change.position.own or change.position
        seen = {
            "op": rows.op[n], "key": rows.key[n], "major": rows.major[n], "own": rows.own[n],
            "position": rows.position[n], "best": rows.best[n], "quality": rows.quality[n],
            "source_ts": rows.best[n], "tx_id": rows.tx_id[n], "scope": rows.scope[n],
            "whole": rows.whole.get(n),
            "cells": shown(shape, rows.sent[n]) if rows.op[n] != "d" else None,
            "types": (dict(shape.declared), dict(shape.inferred), shape.described, shape.connector),
            "names": list(shape.key), "partial": n in rows.partial,
            "unset": unset(shape, rows.sent[n]), "moved": rows.moved.get(n),
            "apart": (frozenset(), False),
        }  # fmt: skip
        meant = {
            "op": str(change.op), "key": change.key, "major": major_of(change.seq)[4:],
            "own": own.major, "position": change.position.text, "best": micros(change.time.best),
            "quality": str(change.time.quality), "source_ts": micros(change.time.source),
            "tx_id": change.tx_id, "scope": change.scope,
            "whole": (change.emitted, change.connector_name) if change.whole else None,
            "cells": None if change.row is None else in_order(change.row),
            "types": (
                dict(outcome.columns), dict(outcome.inferred), outcome.described, outcome.connector
            ),
            "names": list(json.loads(change.key)),
            "unset": change.unset, "partial": bool(change.unset),
            "moved": moved(change), "apart": (change.unheld, change.in_flight),
        }  # fmt: skip
        different = {name: (seen[name], meant[name]) for name in seen if seen[name] != meant[name]}
        if different:
            found.append((records[place], different))
    return found, len(rows.record)


def by_topic(records):
    topics = sorted({record.at.topic for record in records})
    return [[record for record in records if record.at.topic == topic] for topic in topics]


def test_a_workload_is_read_alike(source, seeds):
    accepted = total = 0
    for seed in seeds:
        for records in by_topic(captured(Choices.seeded(seed), source).records):
            found, count = disagreements(Decoder(), records)
            assert found == [], (seed, found[:1])
            accepted, total = accepted + count, total + len(records)
    if source in READ:
        assert accepted > total / 5


def test_damaged_records_are_read_alike_or_left_to_the_general_decoder(source, seeds):
    for seed in seeds:
        choices = Choices.seeded(seed)
        records = [damaged(choices, r) if choices.chance(2) else r
                   for r in captured(choices, source).records]  # fmt: skip
        for own in by_topic(records):
            found, _ = disagreements(Decoder(), own)
            assert found == [], (seed, found[:1])


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.prefix)
def test_a_case_is_read_alike(case):
    spec = sources.parse(case.spec, Path(f"{case.prefix}.toml"), {"STRANDLINE_LAKE": "unused"})
    for records in by_topic(case.records):
        decoder = Decoder(CONNECTORS[case.connector], spec.rules(records[0].at.topic))
        found, _ = disagreements(decoder, records)
        assert found == []


def in_avro(records):
    """The records in Avro, and a decoder that knows their schemas."""
    registry = Registry()
    avro = registry.records(records)
    return avro, Decoder(history=SchemaHistory(schemas=registry.schemas))


def test_a_workload_in_avro_is_read_alike(source, seeds):
    accepted = total = 0
    for seed in seeds:
        records, decoder = in_avro(captured(Choices.seeded(seed), source).records)
        for own in by_topic(records):
            found, count = disagreements(decoder, own)
            assert found == [], (seed, found[:1])
            accepted, total = accepted + count, total + len(own)
    if source in READ:
        assert accepted > total / 5


def broken(choices, data):
    """The bytes with one of them changed, left out, or there twice; or cut, or with others on."""
    if not data or data[:1] != b"\0":
        return data
    at = choices.below(len(data))
    other = bytes([choices.below(256)])
    return choices.pick([
        data[:at] + other + data[at + 1:], data[:at] + data[at + 1:], data[:at] + other + data[at:],
        data[:at], data + other,
    ])  # fmt: skip


def test_broken_avro_is_read_alike_or_left_to_the_general_decoder(source, seeds):
    for seed in seeds:
        choices = Choices.seeded(seed)
        records, decoder = in_avro(captured(choices, source).records)
        records = [
            replace(r, key=broken(choices, r.key), value=broken(choices, r.value))
            if choices.chance(2) else r
            for r in records
        ]  # fmt: skip
        for own in by_topic(records):
            found, _ = disagreements(decoder, own)
            assert found == [], (seed, found[:1])


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.prefix)
def test_a_case_in_avro_is_read_alike(case):
    spec = sources.parse(case.spec, Path(f"{case.prefix}.toml"), {"STRANDLINE_LAKE": "unused"})
    for json_records in by_topic(case.records):
        records, decoder = in_avro(json_records)
        rules = spec.rules(records[0].at.topic)
        decoder = replace(decoder, connector=CONNECTORS[case.connector], rules=rules)
        found, _ = disagreements(decoder, records)
        assert found == []


def test_of_two_headers_of_a_move_the_last_one_counts_for_both_decoders():
    s = Stream()
    headers = [("__debezium.newkey", b'{"id":7}'), ("__debezium.newkey", None)]
    change = s.change("d", 1, 1)
    s.add(change.key, change.value, headers=headers)
    found, count = disagreements(Decoder(), s.records)
    assert found == []
    assert count == len(s.records)
