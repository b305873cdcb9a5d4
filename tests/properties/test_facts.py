"""Facts merge in any order, however records are cut into batches, and seen twice are seen once."""

import pytest
from workloads import Choices, captured

from strandline.errors import Terminal
from strandline.law.decode.general import Decoder
from strandline.law.facts import NONE, merged
from strandline.law.facts.document import FORMAT, read, written
from strandline.law.facts.survey import columns_of, survey
from strandline.law.records import facts_of

_EXAMPLES = range(12)


def rows_and_facts(capture):
    """What each record of the first table says by itself, and the rows among them."""
    topic = min(capture.truth)
    decoder = Decoder()
    outcomes = [decoder.decode(record) for record in capture.records if record.at.topic == topic]
    rows = [outcome for outcome in outcomes if type(outcome).__name__ == "Decoded"]
    return rows, [facts_of([outcome]) for outcome in outcomes]


def told(source):
    for seed in _EXAMPLES:
        choices = Choices.seeded(seed)
        yield seed, choices, *rows_and_facts(captured(choices, source))


def test_facts_are_the_same_in_whatever_order_they_are_merged(source):
    for seed, choices, _, facts in told(source):
        shuffled = sorted(facts, key=lambda _: choices.below(1 << 30))
        assert merged(shuffled) == merged(facts), seed


def test_facts_are_the_same_however_records_are_cut_into_batches(source):
    for seed, choices, _, facts in told(source):
        whole, rest = NONE, list(facts)
        while rest:
            size = 1 + choices.below(len(rest))
            batch, rest = rest[:size], rest[size:]
            whole = merged(batch) + whole
        assert whole == merged(facts), seed


def test_what_was_seen_twice_is_known_once(source):
    for seed, _, _, facts in told(source):
        whole = merged(facts)
        assert whole + whole == whole, seed
        assert merged([*facts, *facts[::2]]) == whole, seed


def test_a_survey_of_all_rows_is_known_already_by_one_who_surveyed_them(source):
    for seed, _, rows, facts in told(source):
        surveyed = survey(merged(facts), rows, ())
        assert survey(surveyed, rows[::-1], ()) == surveyed, seed
        assert columns_of(surveyed, frozenset(), {}) == columns_of(
            merged(facts), frozenset(), {}
        ), seed


def test_facts_are_the_same_after_they_were_written_down(source):
    for seed, _, rows, facts in told(source):
        surveyed = survey(merged(facts), rows, ())
        assert read(written(surveyed)) == surveyed, seed


def test_facts_that_another_version_wrote_are_refused_with_the_remedy():
    with pytest.raises(Terminal, match="replay the table"):
        read(b"\x91\x00")
    with pytest.raises(Terminal, match="replay the table"):
        read(b"not facts")
    whole = written(NONE)
    for size in range(len(whole)):
        with pytest.raises(Terminal, match="replay the table"):
            read(whole[:size])
    with pytest.raises(Terminal, match="replay the table"):
        read(whole.replace(bytes([FORMAT]), b"\xc1", 1))
    with pytest.raises(Terminal, match="replay the table"):
        read(bytes([*whole[:-1], 7]))
