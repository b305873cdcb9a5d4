"""What a run alone says of a store that fails it, and that the next attempt has the history."""

import re

import pytest
from samples.events import Stream
from stages.alone_stage import run

from strandline.alone.engine import histories
from strandline.alone.stores.tables import read_text, write_text
from strandline.alone.work import work_off
from strandline.cells import rendering
from strandline.errors import Terminal, Transient
from strandline.law import in_runs

pytestmark = pytest.mark.heavy

_WAYS = {
    "reading": ("GET", r"\.parquet"),
    "listing": ("GET", "list-type"),
    "writing": ("PUT", r"\.parquet"),
    "committing": ("PUT", r"_delta_log/\d+\.json"),
}
WAYS = [pytest.param(what, id=name) for name, what in _WAYS.items()]
AWAY = (
    r"the lake's store does not do (GET|PUT|HEAD|POST) http://\S+ for s3a://\S+ now "
    r"\(503 Service Unavailable\): the next attempt does the rest; .* see that the store is up"
)
REFUSED = (
    r"the lake cannot be used at s3a://.* Error performing (GET|PUT|HEAD|POST) http://.*403 "
    r"Forbidden.*; see that the credentials of its store have not expired"
)
LATE = (
    r"does not list a commit that it has taken|lists commits late .*: the next attempt looks again"
)


def batches():
    s = Stream()
    s.change("c", 1, 10, name="A")
    s.change("c", 2, 11, name="B")
    first = len(s.records)
    s.change("u", 1, 20, name="C")
    s.change("d", 2, 21)
    return [s.records[:first], s.records[first:]]


@pytest.fixture
def second(capture):
    """The manifest of a second run, after a first one."""
    runs = batches()
    run(capture, 1, runs[0])
    capture.land(runs[1])
    return capture.manifest(2, runs[1])


def said_of(manifest):
    """Why the run failed, as a whole or for its table; whether that can pass by itself."""
    try:
        (table,) = work_off(manifest).tables
    except (Transient, Terminal) as error:
        return str(error), isinstance(error, Transient)
    return table.error, table.transient


def assert_healed(capture, manifest):
    """The next attempt leaves the history that the law makes of both runs."""
    receipt = work_off(manifest)
    law = in_runs(batches(), recorded_at=capture.moment)
    meant = [rendering.line(t.topic, v.cells()) for t in law.tables for v in t.versions]
    assert [table.error for table in receipt.tables] == [None]
    assert [rendering.line(*row) for row in histories(capture.lake, [receipt])] == meant


@pytest.mark.parametrize("what", WAYS)
def test_of_a_store_that_is_busy_is_told_what_it_did_not_do_and_that_it_is_done_later(
    capture, second, proxy, what
):
    with proxy.failing(503, *what):
        text, passes = said_of(second)
    assert passes
    assert re.search(AWAY, text), text
    assert_healed(capture, second)


@pytest.mark.parametrize("what", WAYS)
def test_of_a_store_that_refuses_is_told_what_it_did_not_do_and_to_look_at_the_credentials(
    capture, second, proxy, what
):
    with proxy.failing(403, *what):
        text, passes = said_of(second)
    assert not passes
    assert re.search(REFUSED, text), text
    assert_healed(capture, second)


def test_of_credentials_for_a_time_that_have_ended_is_told_so(capture, second, proxy):
    with proxy.failing(400, *_WAYS["reading"]):
        text, passes = said_of(second)
    assert not passes
    assert re.search(r"cannot be used at s3a://.*ExpiredToken: .*credentials.*expired", text), text
    assert_healed(capture, second)


def test_a_store_that_is_busy_for_a_moment_is_asked_again_and_nobody_is_told(
    capture, second, proxy, reached
):
    reached({})  # with delta-rs's own patience
    with proxy.failing(503, times=3):
        assert_healed(capture, second)


def test_credentials_that_are_changed_during_a_run_fail_it_and_new_ones_do_the_rest(
    capture, store, second, reached
):
    store.change_key("another")
    text, passes = said_of(second)
    assert not passes
    assert re.search(REFUSED, text), text
    assert "StringToSign" not in text
    reached()
    assert_healed(capture, second)


@pytest.mark.parametrize("attempts", [1, 2])
def test_while_listings_lag_no_history_is_wrong_and_the_next_attempt_does_the_run(
    capture, second, proxy, attempts
):
    with proxy.lagging():
        for _ in range(attempts):
            text, passes = said_of(second)
            assert passes
            assert re.search(LATE, text), text
    assert_healed(capture, second)


@pytest.mark.usefixtures("reached")
def test_a_manifest_or_receipt_that_cannot_be_read_is_told_as_a_table_is(proxy, root):
    write_text(f"{root}/run.json", "{}")
    with proxy.failing(503), pytest.raises(Transient, match=AWAY):
        read_text(f"{root}/run.json")
    with proxy.failing(403), pytest.raises(Terminal, match=REFUSED):
        read_text(f"{root}/run.json")
    with pytest.raises(FileNotFoundError):
        read_text(f"{root}/nowhere.json")
