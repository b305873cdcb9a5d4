"""What Spark says of a store that fails it, and that the next attempt has the history.

Tasks of Spark, its driver and Delta reach the store by delta-rs or by S3A: each is failed where it
matters. One driver does it all, run after run on one table.
"""

import re

import pytest

from strandline.runs.way import Way

pytestmark = pytest.mark.heavy

AWAY = (
    r"the lake's store does not do [\w ]+ \S+{}\S* for s3a://\S+ now \(503\b.*\): the next attempt "
    r"does the rest; where it lasts, see that the store is up"
)
REFUSED = (
    r"the lake cannot be used at s3a://\S+: .*{}.* 40[03]\b.*; see that the credentials of its "
    r"store have not expired and may read, list, write and delete there"
)
LATE = (
    r"does not list a commit that it has taken|lists commits late .*: the next attempt looks again"
)
LANDING = r"/landing/.*\.parquet"
HISTORY = r"/history/_is_head.*\.parquet"
COMMIT = r"/history/_delta_log/\d+\.json"


@pytest.mark.parametrize(
    ("way", "methods", "where"),
    [
        pytest.param(Way.SPREAD, "GET", LANDING, id="reading what landed"),
        pytest.param(Way.SPREAD, "PUT", r"/records/.*\.parquet", id="putting on record"),
        pytest.param(Way.SPREAD, "GET", HISTORY, id="reading the history"),
        pytest.param(Way.SPREAD, "PUT", COMMIT, id="committing"),
        pytest.param(Way.ALONE, "PUT", COMMIT, id="committing a small table in a task"),
    ],
)
def test_of_a_store_that_is_busy_is_told_what_it_did_not_do_and_that_it_is_done_later(
    runs, proxy, way, methods, where
):
    manifest = runs.next(way)
    with proxy.failing(503, methods, where):
        text, passes = runs.said(manifest)
    assert passes
    assert re.search(AWAY.format(where), text), text
    runs.heal(manifest)


def test_of_a_store_that_refuses_a_commit_is_told_which_and_to_look_at_the_credentials(runs, proxy):
    manifest = runs.next()
    with proxy.failing(403, "PUT", COMMIT):
        text, passes = runs.said(manifest)
    assert not passes
    assert re.search(REFUSED.format(COMMIT), text), text
    runs.heal(manifest)


def test_credentials_that_end_before_the_history_is_read_are_told_and_new_ones_do_the_rest(
    runs, proxy
):
    manifest = runs.next()
    with proxy.failing(400, "GET", HISTORY):
        text, passes = runs.said(manifest)
    assert not passes
    assert re.search(REFUSED.format(HISTORY), text), text
    runs.heal(manifest)


@pytest.mark.parametrize(
    ("status", "methods", "file", "kind", "told"),
    [
        pytest.param(503, "PUT", "receipt.json", "Transient", AWAY, id="busy at the receipt"),
        pytest.param(403, "GET", "manifest.json", "Terminal", REFUSED, id="refused the manifest"),
        pytest.param(400, "HEAD", "manifest.json", "Terminal", REFUSED, id="credentials ended"),
    ],
)
def test_what_ends_the_driver_is_told_in_its_last_line_without_a_stack_of_java(
    runs, proxy, status, methods, file, kind, told
):
    manifest = runs.next()
    with proxy.failing(status, methods, f"/{file}"):
        text = runs.driver.attempt(manifest)
    last = text.splitlines()[-1]
    assert last.startswith(f"strandline.errors.{kind}: ")
    assert re.search(told.format(f"/{file}"), last), last
    assert "\tat " not in text
    runs.heal(manifest)


@pytest.mark.parametrize("attempts", [1, 2])
def test_while_listings_lag_no_history_is_wrong_and_the_next_attempt_does_the_run(
    runs, proxy, attempts
):
    manifest = runs.next()
    with proxy.lagging():
        for _ in range(attempts):
            text, passes = runs.said(manifest)
            assert passes
            assert re.search(LATE, text), text
    runs.heal(manifest)
