"""The comparison of a history with a recorded truth."""

import json
from pathlib import Path

import pytest

from examples.truth import compare
from strandline.cells import rendering
from strandline.formats import capture
from strandline.law import interpret

EXAMPLES = Path(__file__).parents[2] / "examples"
SPRING = {"code": "SPRING", "percent": "10.00"}
CHEAPER = {"code": "SPRING", "percent": "5.00"}
KEY = {"code": "SPRING"}


def test_a_history_that_is_what_happened_agrees(version, happened, truth):
    history = [version(SPRING, 10, 20, "update"), version(CHEAPER, 20)]
    recorded = truth(KEY, happened(SPRING, None, "update"), happened(CHEAPER, 20))

    agreement = compare(history, [recorded])

    assert agreement.agreed == agreement.keys == 1
    assert agreement.total


def test_nothing_compared_is_no_agreement():
    assert not compare([], []).total


def test_an_update_that_changed_nothing_is_no_version_of_its_own(version, happened, truth):
    history = [version(SPRING, 10, 30, "delete")]
    recorded = truth(KEY, happened(SPRING, 10, "update"), happened(SPRING, 20, "delete"))

    assert compare(history, [recorded]).total


def test_equal_rows_that_a_delete_parts_stay_two_versions(version, happened, truth):
    history = [version(SPRING, 10, 20, "delete"), version(SPRING, 30)]
    recorded = truth(KEY, happened(SPRING, 10, "delete"), happened(SPRING, 30))

    assert compare(history, [recorded]).total


def test_a_column_that_the_row_did_not_have_yet_is_null(version, happened, truth):
    history = [version({**SPRING, "note": None}, 10)]

    assert compare(history, [truth(KEY, happened(SPRING, 10))]).total


def test_json_columns_are_compared_as_documents(version, happened, truth):
    history = [version({**SPRING, "profile": '{"a":1,"b":[2]}'}, 10)]
    recorded = truth(KEY, happened({**SPRING, "profile": '{"b": [2], "a": 1}'}, 10))

    assert compare(history, [recorded]).total


def test_times_are_compared_at_the_resolution_of_the_connectors_clock(version, happened, truth):
    second = 1_000_000
    history = [version(SPRING, 3 * second)]
    recorded = truth(KEY, happened(SPRING, 3 * second + 999_999))

    assert compare(history, [recorded], clock_us=second).total
    assert not compare(history, [recorded]).total


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"percent": "10.01"}, "version 1: percent is '10.01', the truth '10.00'"),
        ({"percent": None}, "version 1: percent is None, the truth '10.00'"),
        ({"surplus": 1}, "version 1: surplus is 1, the truth None"),
        ({"_closed_by": "truncate"}, "version 1: _closed_by is 'truncate', the truth 'key_move'"),
        ({"_moved_from": None}, "version 1: _moved_from is None, the truth {'code': 'OLD'}"),
        ({"_moved_to": None}, "version 1: _moved_to is None, the truth {'code': 'NEW'}"),
        (
            {"_valid_from": "2026-11-20T22:00:00.000011Z"},
            (
                "version 1: _valid_from is '2026-11-20T22:00:00.000011+00:00', "
                "the truth '2026-11-20T22:00:00.000010+00:00'"
            ),
        ),
    ],
)
def test_every_difference_is_a_disagreement_that_names_it(
    version, happened, truth, changed, reason
):
    moves = {"moved_from": {"code": "OLD"}, "moved_to": {"code": "NEW"}}
    history = [version(SPRING, 10, 20, "key_move", **moves) | changed]
    recorded = truth(KEY, happened(SPRING, 10, "key_move", **moves))

    agreement = compare(history, [recorded])

    assert not agreement.total
    assert [found.reason for found in agreement.disagreements] == [reason]


def test_a_flag_is_not_a_number(version, happened, truth):
    history = [version({**SPRING, "vip": True}, 10)]
    recorded = truth(KEY, happened({**SPRING, "vip": 1}, 10))

    assert not compare(history, [recorded]).total


def test_a_version_too_many_is_a_disagreement(version, happened, truth):
    history = [version(SPRING, 10, 20, "update"), version(CHEAPER, 20)]

    [found] = compare(history, [truth(KEY, happened(SPRING, 10))]).disagreements

    assert found.reason == "has 2 versions, the truth 1"


def test_a_key_without_history_and_a_history_without_truth_disagree(version, happened, truth):
    history = [version({"code": "NEVER", "percent": None}, 10)]

    found = compare(history, [truth(KEY, happened(SPRING, 10))]).disagreements

    assert [(each.key, each.reason) for each in found] == [
        ('{"code": "NEVER"}', "has 1 version, the truth does not know it"),
        ('{"code": "SPRING"}', "has no history"),
    ]


def test_a_long_value_is_cut_in_the_reason(version, happened, truth):
    history = [version({**SPRING, "bio": "x" * 5000}, 10)]

    [found] = compare(history, [truth(KEY, happened(SPRING, 10))]).disagreements

    assert len(found.reason) < 200


@pytest.mark.parametrize(
    ("name", "clock_us"), [("postgres-inventory", 1), ("mariadb-inventory", 1_000_000)]
)
def test_the_law_tells_each_capture_as_it_happened(name, clock_us):
    folder = EXAMPLES / name
    histories = interpret(capture.read([folder / "capture.jsonl"]))
    rows = [
        json.loads(rendering.line(table.topic, row.cells()))
        for table in histories.tables
        for row in table.versions
    ]
    recorded = [json.loads(line) for line in (folder / "truth.jsonl").open(encoding="utf-8")]

    agreement = compare(rows, recorded, clock_us)

    assert agreement.disagreements == ()
    assert agreement.keys == len(recorded)
