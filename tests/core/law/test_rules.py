"""What a source file says of a table, on its way to the engines and from one run to the next."""

import json
from dataclasses import asdict, replace

from strandline.changes.rules import Epoch, TableRules
from strandline.runs.manifest import Manifest, TableCut

RULES = TableRules(
    key=("id",),
    ignore=("seen",),
    columns=(("id", "int32"), ("total", "decimal(10,2)")),
    never_streamed=("total",),
    rename=(("_id", "id"),),
    epochs=(Epoch(1, 5),),
)


def test_all_rules_travel_in_the_manifest():
    manifest = Manifest("s", "mysql", "/lake", 3, "2026", 7, (TableCut("t", "t", (), RULES),))
    assert Manifest.from_json(manifest.to_json()).tables[0].rules == RULES


def test_rules_are_known_again_from_what_a_run_has_noted():
    assert RULES.are_noted(RULES.noted())
    assert not replace(RULES, never_streamed=()).are_noted(RULES.noted())


def test_a_rule_that_a_release_did_not_know_is_one_that_nobody_had_set():
    """Else every table would be read once anew after an upgrade."""
    fields = asdict(replace(RULES, never_streamed=()))
    del fields["never_streamed"]
    assert replace(RULES, never_streamed=()).are_noted(json.dumps(fields))
    assert not RULES.are_noted(json.dumps(fields))


def test_rules_of_a_release_that_knew_more_are_other_rules():
    assert not RULES.are_noted(json.dumps({**asdict(RULES), "mood": "good"}))
    assert not RULES.are_noted("")
