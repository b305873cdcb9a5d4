"""Plain keys, folded in one loop, have the history that the general decoder and the groups give."""

from dataclasses import replace

from workloads import Choices
from workloads.runs import arrivals

from strandline.law import in_runs, interpret
from strandline.runs import segment


def landed_again(records, choices):
    """Some records once more, as a backfill lands them: at their offsets, under another id."""
    first = choices.below(len(records))
    for record in records[first : first + 1 + choices.below(len(records))]:
        again = segment.again(record.at.topic_id, "2026-11-27")
        yield replace(record, at=replace(record.at, topic_id=again))


def told(found):
    return found.counts, found.quarantined, {table.topic: table for table in found.tables}


def test_plain_keys_have_the_history_that_the_general_decoder_gives_them(source, seeds):
    for seed, runs in arrivals(source, seeds):
        records = [record for run in runs for record in run]
        assert told(interpret(records)) == told(interpret(records, typed=False)), seed


def test_going_on_from_what_stands_gives_what_all_changes_give(source, seeds):
    for seed, runs in arrivals(source, seeds):
        records = [record for run in runs for record in run]
        assert told(in_runs(runs)) == told(interpret(records, typed=False)), seed


def test_the_runs_of_a_table_that_is_not_plain_give_what_one_run_gives(source, seeds):
    for seed, runs in arrivals(source, seeds):
        records = [record for run in runs for record in run]
        assert told(in_runs(runs, typed=False)) == told(interpret(records, typed=False)), seed


def test_what_a_backfill_lands_once_more_adds_nothing_to_a_history(source, seeds):
    for seed, runs in arrivals(source, seeds):
        records = [record for run in runs for record in run]
        again = list(landed_again(records, Choices.seeded(seed)))
        once, twice = interpret(records), in_runs([*runs, again])
        assert twice.tables == [
            replace(table, counts=other.counts)
            for table, other in zip(once.tables, twice.tables, strict=True)
        ], seed
        assert twice.counts.changes == once.counts.changes, seed
        assert twice.counts.landed == once.counts.landed + len(again), seed
        assert told(twice) == told(in_runs([*runs, again], typed=False)), seed
