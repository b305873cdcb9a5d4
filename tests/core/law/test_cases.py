"""Every case of tests/cases, in every way that Kafka and runs may deliver its records."""

from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from cases.language import CaseError, cases, read, repeated

from strandline.connectors import CONNECTORS
from strandline.engine import recorded_at
from strandline.law import in_runs
from strandline.sources import source

CASES = cases()
REPEATABLE = [case for case in CASES if case.replay]


@cache
def rules_of(spec):
    return source.parse(spec, Path("case.toml"), {"STRANDLINE_LAKE": "unused"}).rules


def run(case, *runs):
    """The histories of records that arrive in these runs."""
    records = [record for each in runs for record in each]
    found = in_runs(runs, CONNECTORS[case.connector], recorded_at(records), rules_of(case.spec))
    assert found.counts.conserved
    assert_well_formed(found)
    return found


def told(found):
    """What is counted and refused, which has to be the same in whatever runs records arrive."""
    refused = [(q.reason, q.detail, q.key, q.at) for q in found.quarantined]
    orphans = {table.topic: table.orphaned_moves for table in found.tables}
    return found.counts, orphans, refused, [table.regress for table in found.tables]


def assert_well_formed(found):
    """Law 5: per key ordered, disjoint intervals, at most one of them open."""
    for table in found.tables:
        keys = defaultdict(list)
        for version in table.versions:
            keys[version.key].append(version)
        for versions in keys.values():
            assert all(v.valid_to is None or v.valid_from <= v.valid_to for v in versions)
            for before, after in pairwise(versions):
                assert before.seq_to is not None
                assert before.seq_from < before.seq_to <= after.seq_from
                assert before.valid_to <= after.valid_from


def history(case, found):
    rows = [(table.topic, v.cells()) for table in found.tables for v in table.versions]
    return case.shown(rows)


def each(of):
    return pytest.mark.parametrize("case", of, ids=lambda case: case.prefix)


@each(CASES)
def test_a_case_in_one_run(case):
    found = run(case, case.records)
    refused = [(q.reason, q.at.partition, q.at.offset) for q in found.quarantined]
    assert history(case, found) == case.expected
    assert case.refused(refused) == case.quarantined
    # A table that stopped counts nothing.
    landed = [r for r in case.records if not (case.stops and r.at.topic in case.topics)]
    counts = {"landed": len(landed), "orphans": 0, **case.counts}
    seen = {
        "landed": found.counts.landed,
        "orphans": sum(table.orphaned_moves for table in found.tables),
        "duplicates": found.counts.duplicates,
        "control": found.counts.control,
    }
    errors = [table.error for table in found.tables if table.error is not None]
    assert {name: seen[name] for name in counts} == counts
    assert [case.stops in error for error in errors] == ([True] if case.stops else [])


@each(CASES)
def test_a_case_in_as_many_runs_as_it_has_records(case):
    whole = run(case, case.records)
    found = run(case, *([record] for record in case.records))
    assert history(case, found) == case.expected
    assert told(found) == told(whole)


@each(CASES)
def test_a_case_in_two_runs_cut_anywhere(case):
    whole = run(case, case.records)
    for cut in range(1, len(case.records)):
        found = run(case, case.records[:cut], case.records[cut:])
        assert history(case, found) == case.expected, cut
        assert told(found) == told(whole), cut


@each(CASES)
def test_a_case_of_which_one_partition_after_the_other_arrives(case):
    """Each in a run of its own, forwards and backwards: keys of a move, fences, control topics."""
    whole = run(case, case.records)
    places = sorted({(record.at.topic, record.at.partition) for record in case.records})
    for order in (places, places[::-1]):
        runs = [[r for r in case.records if (r.at.topic, r.at.partition) == at] for at in order]
        found = run(case, *runs)
        assert history(case, found) == case.expected
        assert told(found) == told(whole)


@each(REPEATABLE)
def test_a_case_with_every_suffix_delivered_again(case):
    for start in range(len(case.records)):
        again = repeated(case, start)
        whole = run(case, again)
        assert history(case, whole) == case.expected
        new = len(case.records)
        parted = run(case, again[:new], again[new:])
        assert told(parted) == told(whole)
        assert history(case, parted) == case.expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("== t\nconnector: mysql\nc 1 A @1\n", "expected history"),
        ("== t\nconnector: mysql\nc 1 A @1\n=> id | name\n 1\n", "as many cells"),
        ("== t\nconnector: mysql\nc 1 A @1\n=> id\n 1\n what: 1\n", "expectation 'what'"),
        ("== t\nc 1 A @1\n=> id\n 1\n", "connector"),
    ],
)
def test_a_case_that_is_written_wrongly_is_refused_with_its_title(tmp_path, text, words):
    path = tmp_path / "wrong.txt"
    path.write_text(text)
    with pytest.raises(CaseError, match=words) as error:
        list(read(path))
    assert "wrong.txt: t:" in str(error.value)
