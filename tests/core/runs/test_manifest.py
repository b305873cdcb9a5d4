import json

import pytest

from strandline.changes.rules import TableRules
from strandline.runs.manifest import Manifest, OffsetRange, TableCut
from strandline.runs.receipt import Counts, Receipt, TableReceipt


def test_a_manifest_survives_its_json():
    piece = OffsetRange("t", "id", 0, 5, 9)
    manifest = Manifest(
        "s",
        "mysql",
        "/lake",
        3,
        "2026-01-01T00:00:00+00:00",
        7,
        (TableCut("t", "t", (piece,)),),
        (piece,),
    )
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_how_a_connector_writes_values_travels_in_the_manifest():
    rules = TableRules(settings=(("binary.handling.mode", "hex"),))
    manifest = Manifest("s", "mysql", "/l", 3, "", 7, (TableCut("t", "t", (), rules),))
    assert Manifest.from_json(manifest.to_json()).tables[0].rules == rules


def test_a_manifest_of_the_release_before_is_read_without_settings():
    manifest = Manifest("s", "mysql", "/l", 3, "", 7, (TableCut("t", "t", ()),))
    older = json.loads(manifest.to_json())
    del older["tables"][0]["rules"]["settings"]
    assert Manifest.from_json(json.dumps(older)) == manifest


def test_a_receipt_survives_its_json():
    receipt = Receipt("s", 3, (TableReceipt("t", "t", Counts(landed=1, changes=1), error="x"),), 2)
    assert Receipt.from_json(receipt.to_json()) == receipt


def test_a_manifest_of_another_format_is_refused():
    with pytest.raises(ValueError, match="format 2"):
        Manifest.from_json('{"format": 1}')


def test_counts_are_conserved_only_when_nothing_vanished():
    assert Counts(landed=4, changes=1, duplicates=1, control=1, quarantined=1).conserved
    assert not Counts(landed=2, changes=1).conserved
