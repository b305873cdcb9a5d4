"""What the gate does to publications: what is withheld, until when, and what is done meanwhile."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from servers.receivers import TO_HOOK
from strandline_airflow.forms import erase, release
from strandline_airflow.monitoring import catalogue
from strandline_airflow.monitoring.watching import Watcher

from strandline.alone.stores import nulls
from strandline.errors import SpecError, Terminal
from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.standing import Verdict
from strandline.sources.source import load

ORDERS, ITEMS = "shop.orders", "shop.items"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HALF = (
    '[expectations]\nmax_vanished = 0.5\nmax_quarantined = 0.5\n[[table]]\ntopic = "shop.orders"\n'
)
NAMED = {"tables": ["orders"], "why": " a clean-up of the shop "}


@pytest.fixture
def source_path(source_path):
    """The file, which expects something of all tables and has a section of `orders` at its end."""
    source_path.write_text(source_path.read_text() + HALF)
    return source_path


@pytest.fixture
def says(source_path):
    """Adds to the file of the source, and reads it."""

    def says(text):
        source_path.write_text(source_path.read_text() + text)
        return load(source_path)

    return says


@pytest.fixture
def run(arrive, manifests, publications, source, says):
    """Compacts three more records of `orders`, so that so many rows are current; the row of it."""
    sources = [source]

    def run(current, *, says_more="", quarantined=0, error=None):
        if says_more:
            sources.append(says(says_more))
        arrive(ORDERS, 3)
        manifest = manifests.next(sources[-1], (NOON + timedelta(hours=moment())).isoformat())
        counts = Counts(
            landed=3, changes=3 - quarantined, quarantined=quarantined, rows_written=2,
            rows_closed=1, history_rows=50 + manifest.number, current_rows=current,
        )  # fmt: skip
        made = TableReceipt(
            "orders", ORDERS, Counts() if error else counts,
            history_version=-1 if error else manifest.number, changed=not error, error=error,
        )  # fmt: skip
        publications.publish(manifest, Receipt("shop", manifest.number, (made,)))
        return last()

    def moment():
        return publications.last_number()

    def last():
        (row,) = publications.last()
        return row

    return run


@pytest.fixture
def ordered(order, publications):
    """Publishes an order that leaves so many current rows of `orders`, in a version of its own."""

    def ordered(work, current, **counts):
        made = Counts(history_rows=70, current_rows=current, **counts)
        number = publications.last_number() + 1
        said = {"counts": made, "history_version": number, "changed": True}
        order(work, NOON + timedelta(hours=number), orders=said)
        (row,) = publications.last()
        return row

    return ordered


def test_a_table_that_is_not_as_expected_stays_at_the_cut_of_its_last_publication(run):
    good, held = run(10), run(4)
    assert (held.history_version, held.applied) == (good.history_version, good.applied)
    assert (held.counts.current_rows, held.counts.rows_written, held.changed) == (10, 0, False)
    assert held.error is None
    assert held.held == (
        "orders is not published, since it is not as expected: max_vanished is 50%, and the "
        "current rows are 60% fewer (10 are published, 4 are left). Until then readers of "
        "publications see version 1 of its history. If it is right as it is, trigger release__shop "
        "for it, or change what is expected in the source file. If not, mend it (correct the "
        "source, or replay): it is published by the next run that finds it as expected"
    )


def test_the_next_run_goes_on_from_where_the_history_is_and_not_from_what_is_published(
    run, manifests, publications, arrive, source
):
    run(10)
    run(4)
    arrive(ORDERS, 1)
    (cut,) = manifests.next(source, NOON.isoformat()).tables
    assert [(one.start, one.end) for one in cut.ranges] == [(6, 7)]
    assert list(publications.applied().values()) == [6]


def test_a_table_that_is_as_expected_again_is_published_with_all_that_was_withheld(run):
    held, good = [run(10), run(4), run(3)][-1], run(5)
    assert held.held
    assert (good.held, good.withheld, good.changed) == (None, None, True)
    assert (good.history_version, list(good.applied.values())) == (4, [{0: 12}])
    assert (good.counts.landed, good.counts.rows_written, good.counts.rows_closed) == (3, 6, 3)


def test_what_is_expected_by_the_source_file_of_now_is_asked_for(run):
    run(10)
    run(4)
    assert run(4, says_more="expectations.max_vanished = 1\n").held is None


def test_the_first_publication_of_a_table_can_be_withheld_too(run):
    held = run(4, says_more="expectations.min_rows = 5\n")
    assert (held.history_version, held.applied) == (-1, {})
    assert (
        "min_rows is 5, and there are 4 current rows. Until then nothing of it is pub" in held.held
    )
    assert run(5).history_version == 2


def test_the_share_in_quarantine_is_of_all_records_since_the_last_publication(run, ordered):
    run(10, quarantined=1)
    assert (
        "of 3 records since the last publication 2 (66.67%) are in quar"
        in run(10, quarantined=2).held
    )
    assert "of 6 records since the last publication 5 (83.33%)" in run(10, quarantined=3).held
    assert (
        "of 6 records since the last publication 4 (66.67%)"
        in ordered(Work.REQUEUE, 10, landed=2, quarantined=1, changes=1).held
    )


def test_records_that_can_be_read_again_free_a_table(run, ordered):
    run(10)
    assert run(10, quarantined=2).held
    good = ordered(Work.REQUEUE, 10, landed=1, changes=1)
    assert (good.held, good.history_version) == (None, 3)


def test_a_table_that_an_order_mends_is_published_by_it(run, ordered):
    run(10)
    run(4)
    assert "4 are left" in ordered(Work.MAINTAIN, 4).held
    good = ordered(Work.REPLAY, 10)
    assert (good.held, good.history_version, good.changed) == (None, 4, True)


def test_what_is_ordered_for_a_table_that_is_published_is_not_asked_for(run, ordered):
    run(10)
    assert ordered(Work.REPLAY, 1).held is None


def test_maintenance_of_what_is_withheld_is_withheld_too(run, ordered):
    run(10)
    run(4)
    held = ordered(Work.MAINTAIN, 4)
    assert (held.history_version, held.made_version) == (1, 3)
    assert held.reached == {topic: {0: 6} for topic in held.reached}


def test_an_erasure_publishes_what_it_leaves(run, ordered):
    run(10)
    run(4)
    erased = ordered(Work.ERASE, 3)
    assert (erased.history_version, erased.withheld) == (3, None)


def test_a_table_that_is_withheld_and_then_fails_says_the_error_and_later_goes_on(run):
    run(10)
    run(4)
    failed = run(4, error="column x: text is no int")
    assert (failed.held, failed.withheld.history_version) == ("column x: text is no int", 2)
    assert run(10).held is None


def test_a_withheld_table_cannot_be_called_otherwise(run, manifests, says, arrive):
    run(4, says_more="expectations.min_rows = 5\n")
    arrive(ORDERS, 1)
    with pytest.raises(Terminal, match="would begin anew as 'sales'"):
        manifests.next(says('name = "sales"\n'), NOON.isoformat())


def test_a_withheld_table_waits_and_is_held_since_the_run_that_made_it_so(run, source):
    run(10)
    run(4)
    run(4)
    (table,) = catalogue.standing(source).tables
    assert table.verdict(NOON) is Verdict.HELD
    assert (table.landed, table.history_version, table.current_rows) == (6, 1, 10)
    assert table.held_since == NOON + timedelta(hours=1)


@pytest.mark.usefixtures("airflow_database")
def test_who_is_told_of_held_tables_is_told_of_the_expectation(run, says, hook):
    run(10)
    run(4)
    Watcher(says(TO_HOOK)).look(NOON + timedelta(hours=2))
    (alert,) = hook.posts[0]["alerts"]
    assert (alert["table"], alert["kind"]) == ("orders", "held")
    for part in ("orders is not pub", "max_vanished is 50%", "60% fewer", "trigger release__shop"):
        assert part in alert["cause"]


def test_of_a_table_that_delta_rs_cannot_read_it_is_said_why_nobody_knows_its_nulls(
    lake, history, widened
):
    history({"key": '{"id":1}'})
    widened(lake.history("orders"))
    assert "TypeWidening" in nulls.counted(lake.history("orders"), 0, {"name": 0}).unread


# ---------------------------------------------------- release


@pytest.fixture
def released(source, manifests, publications):
    """Releases `orders`, as a run of `release__shop` does which Ann has triggered."""

    def released(**given):
        made = release.order(source, {**NAMED, **given}, NOON)
        asked = replace(made, read=lambda: {"by": "ann"})
        manifest = manifests.order(source, (NOON + timedelta(days=1)).isoformat(), asked)
        publications.publish(manifest, Receipt("shop", manifest.number, ()))
        (row,) = publications.last()
        return row

    return released


def test_what_is_withheld_is_published_once_for_whoever_releases_it(run, released, publications):
    run(10)
    run(4)
    row = released()
    assert (row.history_version, list(row.applied.values()), row.held) == (2, [{0: 6}], None)
    assert (row.changed, row.counts.rows_written, row.counts.current_rows) == (True, 2, 4)
    assert (row.released_by, row.released_why) == ("ann", "a clean-up of the shop")
    assert "75% fewer (4 are published, 1 are left)" in run(1).held
    assert publications.of("orders", 9)[1].released_by == "ann"


def test_what_is_held_after_a_release_is_so_since_then(run, released, source):
    run(10)
    run(4)
    released()
    run(1)
    (table,) = catalogue.standing(source).tables
    assert table.held_since == NOON + timedelta(hours=3)


def test_a_release_does_not_free_a_table_that_cannot_be_applied(run, released):
    run(10)
    run(4)
    run(4, error="column x: text is no int")
    row = released()
    assert (row.history_version, row.held, row.withheld) == (2, "column x: text is no int", None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tables": []}, "name the tables in the form, and say why"),
        ({"why": " "}, "name the tables in the form, and say why"),
        ({"tables": ["ordres"]}, "there is orders"),
    ],
)
def test_a_release_names_tables_and_a_reason(run, released, given, said):
    run(10)
    run(4)
    with pytest.raises(SpecError, match=said):
        released(**given)


def test_what_is_not_withheld_cannot_be_released(run, released):
    run(10)
    with pytest.raises(SpecError, match="nothing of orders is withheld by an expectation; of shop"):
        released()


def test_what_is_withheld_is_released_before_keys_are_erased(run, source):
    run(10)
    run(4)
    with pytest.raises(
        Terminal, match=r"withheld \(orders is .*Trigger release__shop for it first"
    ):
        erase.order(source, {"table": "orders", "keys": ["1"]}, NOON)
