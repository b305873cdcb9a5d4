from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from strandline_airflow.ledger import Superseded
from strandline_airflow.runs.folder import read_manifest, read_receipt, write_manifest
from strandline_airflow.runs.manifests import Manifests

from strandline.alone.stores.tables import read_text, write_text
from strandline.errors import Terminal, Transient
from strandline.runs.manifest import OffsetRange, TableCut, Work
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.sources.source import load

ORDERS, ITEMS, CONTROL = "shop.orders", "shop.items", "shop.transaction"
AT_NOON = "2026-11-20T12:00:00.000000+00:00"
LATER = "2026-11-20T13:00:00.000000+00:00"


def receipt_of(manifest, **errors):
    """Every table applied, but for those that have an error."""
    return Receipt(
        manifest.source,
        manifest.number,
        tuple(
            TableReceipt(cut.table, cut.topic, Counts(), error=errors[cut.table])
            if cut.table in errors
            else TableReceipt(
                cut.table,
                cut.topic,
                Counts(landed=2, changes=2, history_rows=10, current_rows=5),
                history_version=manifest.number,
                changed=True,
                seconds=1.5,
            )
            for cut in manifest.tables
        ),
    )


def by_topic(publications):
    return {row.topic: row for row in publications.last()}


def test_nothing_landed_needs_no_run(manifests, source):
    assert manifests.next(source, AT_NOON) is None


def test_the_first_run_applies_what_is_landed(manifests, source, arrive, zone):
    topic_id = arrive(ORDERS, 3)
    manifest = manifests.next(source, AT_NOON)
    assert manifest.number == 1
    assert manifest.planned_at == AT_NOON
    assert manifest.landing_version == zone.version()
    offsets = OffsetRange(ORDERS, topic_id, 0, 0, 3)
    assert manifest.tables == (TableCut("orders", ORDERS, (offsets,), source.default_rules),)


def test_an_open_manifest_is_returned_again_whatever_has_landed_since(manifests, source, arrive):
    arrive(ORDERS, 3)
    first = manifests.next(source, AT_NOON)
    arrive(ORDERS, 4)
    assert manifests.next(source, LATER) == first


def test_a_published_run_is_followed_by_the_next_with_the_rest(
    manifests, publications, source, arrive
):
    arrive(ORDERS, 3)
    first = manifests.next(source, AT_NOON)
    arrive(ORDERS, 4)
    publications.publish(first, receipt_of(first))
    second = manifests.next(source, LATER)
    assert second.number == 2
    assert [(one.start, one.end) for one in second.tables[0].ranges] == [(3, 7)]


def test_what_came_since_a_run_that_is_taken_back_is_to_be_applied_again_in_new_partitions_too(
    manifests, publications, source, arrive
):
    arrive(ORDERS, 3)
    first = manifests.next(source, AT_NOON)
    cut = first.tables[0]
    since = replace(cut.ranges[0], partition=1, end=4)
    news = replace(cut, ranges=(replace(cut.ranges[0], start=3, end=5), since))
    for run in (
        first,
        replace(first, number=2, tables=(news,)),
        replace(first, number=3, work=Work.UNDO),
    ):
        publications.publish(run, receipt_of(run))
    assert by_topic(publications)[ORDERS].applied == {cut.ranges[0].topic_id: {0: 3}}


def test_nothing_new_after_a_published_run_needs_no_run(manifests, publications, source, arrive):
    arrive(ORDERS, 3)
    first = manifests.next(source, AT_NOON)
    publications.publish(first, receipt_of(first))
    assert manifests.next(source, LATER) is None


def test_a_table_that_has_a_history_cannot_be_called_otherwise(
    manifests, publish, source_path, arrive
):
    arrive("shop.t", 2)
    publish(t={"history_version": 0})
    source_path.write_text(f'{source_path.read_text()}[[table]]\ntopic = "shop.t"\nname = "u"\n')
    renamed = load(source_path)
    assert manifests.next(renamed, LATER) is None
    arrive("shop.t", 1)
    with pytest.raises(
        Terminal, match=r"of table 't', and would begin anew as 'u': .*name = \"t\""
    ):
        manifests.next(renamed, LATER)


@pytest.mark.parametrize("version", [-1, 3])
def test_a_table_that_is_held_or_has_no_history_may_be_called_otherwise(
    manifests, publish, source_path, arrive, version
):
    arrive("shop.t", 2)
    publish(t={"history_version": version, "error": "rebuild the table under another name"})
    source_path.write_text(f'{source_path.read_text()}[[table]]\ntopic = "shop.t"\nname = "u"\n')
    (cut,) = manifests.next(load(source_path), LATER).tables
    assert cut.table == "u"


def test_of_two_planners_at_once_one_is_refused(source, lake, arrive, monkeypatch):
    arrive(ORDERS, 3)
    slow, fast = Manifests(lake), Manifests(lake)
    cut = slow._cut  # noqa: SLF001 - the moment between looking and committing

    def overtaken(*arguments):
        fast.next(source, AT_NOON)
        return cut(*arguments)

    monkeypatch.setattr(slow, "_cut", overtaken)
    with pytest.raises(Superseded):
        slow.next(source, LATER)
    assert fast.next(source, LATER).planned_at == AT_NOON


def test_a_publication_has_one_row_for_each_topic_in_one_commit(
    manifests, publications, source, arrive, lake
):
    ids = {topic: arrive(topic, 2) for topic in (ORDERS, ITEMS, CONTROL)}
    manifest = manifests.next(source, AT_NOON)
    assert publications.publish(manifest, receipt_of(manifest))
    rows = by_topic(publications)
    assert {topic: row.applied for topic, row in rows.items()} == {
        topic: {topic_id: {0: 2}} for topic, topic_id in ids.items()
    }
    assert {topic: row.table for topic, row in rows.items()} == {
        ORDERS: "orders", ITEMS: "items", CONTROL: None
    }  # fmt: skip
    assert rows[ORDERS].counts.landed == 2
    assert DeltaTable(lake.publications).version() == 1


def test_what_lands_while_a_run_works_is_the_lag_of_its_publication(
    manifests, publications, source, arrive, zone
):
    arrive(ORDERS, 3)
    arrive(ITEMS, 2)
    manifest = manifests.next(source, AT_NOON)
    arrive(ORDERS, 4)
    publications.publish(manifest, receipt_of(manifest))
    lags = {topic: row.lag(zone.landed()) for topic, row in by_topic(publications).items()}
    assert lags == {ORDERS: 4, ITEMS: 0}


def test_publishing_twice_changes_nothing(manifests, publications, source, arrive, lake):
    arrive(ORDERS, 2)
    manifest = manifests.next(source, AT_NOON)
    assert publications.publish(manifest, receipt_of(manifest))
    assert not publications.publish(manifest, receipt_of(manifest))
    assert DeltaTable(lake.publications).version() == 1


def test_a_table_without_news_is_carried_forward_as_it_stood(
    manifests, publications, source, arrive
):
    arrive(ORDERS, 2)
    arrive(ITEMS, 2)
    first = manifests.next(source, AT_NOON)
    publications.publish(first, receipt_of(first))
    before = by_topic(publications)[ITEMS]
    arrive(ORDERS, 1)
    second = manifests.next(source, LATER)
    publications.publish(second, receipt_of(second))
    after = by_topic(publications)[ITEMS]
    assert after == replace(
        before,
        number=2,
        changed=False,
        seconds=0.0,
        planned_at=LATER,
        landing_version=second.landing_version,
        counts=Counts(history_rows=10, current_rows=5),
    )


def test_a_failed_table_keeps_its_offsets_and_is_cut_again_with_what_came_since(
    manifests, publications, source, arrive
):
    arrive(ORDERS, 2)
    arrive(ITEMS, 2)
    first = manifests.next(source, AT_NOON)
    publications.publish(first, receipt_of(first, items="column x: text is no int"))
    row = by_topic(publications)[ITEMS]
    assert (row.error, row.applied, row.history_version) == ("column x: text is no int", {}, -1)
    arrive(ITEMS, 3)
    second = manifests.next(source, LATER)
    assert [cut.table for cut in second.tables] == ["items"]
    assert [(one.start, one.end) for one in second.tables[0].ranges] == [(0, 5)]


def test_a_table_is_held_until_a_compaction_has_applied_it_whatever_is_ordered_meanwhile(
    manifests, publications, source, arrive
):
    arrive(ITEMS, 2)
    first = manifests.next(source, AT_NOON)
    publications.publish(first, receipt_of(first, items="column x: text is no int"))
    told = [by_topic(publications)[ITEMS]]
    for number, work in enumerate((Work.MAINTAIN, Work.UNDO), 2):
        run = replace(first, number=number, work=work)
        publications.publish(run, receipt_of(run))
        told.append(by_topic(publications)[ITEMS])
    run = replace(first, number=4)
    publications.publish(run, receipt_of(run))
    told.append(by_topic(publications)[ITEMS])
    assert [(row.work, row.error, row.held) for row in told] == [
        (Work.COMPACT, "column x: text is no int", "column x: text is no int"),
        (Work.MAINTAIN, None, "column x: text is no int"),
        (Work.UNDO, None, "column x: text is no int"),
        (Work.COMPACT, None, None),
    ]


def test_an_order_that_fails_on_a_table_says_why_and_does_not_hold_it(
    manifests, publications, source, arrive
):
    arrive(ITEMS, 2)
    first = manifests.next(source, AT_NOON)
    publications.publish(first, receipt_of(first))
    run = replace(first, number=2, work=Work.RECONCILE)
    publications.publish(run, receipt_of(run, items="no such path: /x.csv"))
    row = by_topic(publications)[ITEMS]
    assert (row.error, row.held) == ("no such path: /x.csv", None)


def test_a_failed_table_does_not_lose_its_last_good_version(
    manifests, publications, source, arrive
):
    arrive(ITEMS, 2)
    first = manifests.next(source, AT_NOON)
    publications.publish(first, receipt_of(first))
    arrive(ITEMS, 2)
    second = manifests.next(source, LATER)
    publications.publish(second, receipt_of(second, items="no"))
    row = by_topic(publications)[ITEMS]
    assert (row.history_version, row.error, row.changed) == (1, "no", False)


def test_an_order_that_ended_the_version_before_it_publishes_the_one_it_left_though_it_failed(
    manifests, publications, source, arrive
):
    arrive(ITEMS, 2)
    first = manifests.next(source, AT_NOON)
    publications.publish(first, receipt_of(first))
    run = replace(first, number=2, work=Work.ERASE)
    failed = receipt_of(run, items="found in history")
    left = tuple(replace(table, history_version=3) for table in failed.tables)
    publications.publish(run, replace(failed, tables=left))
    row = by_topic(publications)[ITEMS]
    assert (row.history_version, row.error, row.held) == (3, "found in history", None)


def test_a_table_that_the_receipt_forgot_is_not_taken_as_applied(
    manifests, publications, source, arrive
):
    arrive(ORDERS, 2)
    manifest = manifests.next(source, AT_NOON)
    publications.publish(manifest, replace(receipt_of(manifest), tables=()))
    row = by_topic(publications)[ORDERS]
    assert row.applied == {}
    assert "does not mention" in row.error


def test_a_run_cannot_be_published_before_the_one_that_precedes_it(
    manifests, publications, source, arrive
):
    arrive(ORDERS, 2)
    manifest = replace(manifests.next(source, AT_NOON), number=2)
    with pytest.raises(Transient, match=r"run 2 of shop cannot be published: .* is 0"):
        publications.publish(manifest, receipt_of(manifest))


def test_the_manifest_file_is_what_the_log_says(manifests, source, arrive, lake):
    arrive(ORDERS, 2)
    manifest = manifests.next(source, AT_NOON)
    for _ in range(2):
        path = write_manifest(manifest)
    assert path == f"{lake.run(1)}/manifest.json"
    assert read_manifest(path) == manifest


@pytest.mark.parametrize("root", ["lake", "{}/a lake/ü", "file://{}/lake"])
def test_a_small_file_is_written_and_replaced_wherever_the_lake_is(tmp_path, monkeypatch, root):
    monkeypatch.chdir(tmp_path)
    path = f"{root.format(tmp_path)}/shop/runs/00000001/manifest.json"
    for text in ("the first", "é"):
        write_text(path, text)
        assert read_text(path) == text


def test_a_small_file_that_is_not_there_is_not_found(tmp_path):
    for path in (tmp_path / "receipt.json", tmp_path / "no" / "folder" / "receipt.json"):
        with pytest.raises(FileNotFoundError):
            read_text(str(path))


def test_a_missing_receipt_is_terminal_and_says_where_to_look(manifests, source, arrive, lake):
    arrive(ORDERS, 2)
    manifest = manifests.next(source, AT_NOON)
    with pytest.raises(
        Terminal, match=rf"{lake.run(1)}/receipt.json.*log of the task before this one"
    ):
        read_receipt(manifest)


def test_the_receipt_of_another_run_is_refused(manifests, source, arrive):
    arrive(ORDERS, 2)
    manifest = manifests.next(source, AT_NOON)
    folder = Path(write_manifest(manifest)).parent
    (folder / "receipt.json").write_text(replace(receipt_of(manifest), number=7).to_json())
    with pytest.raises(Terminal, match="receipt of run 7, not of 1"):
        read_receipt(manifest)
