"""`epoch__SOURCE`: a replica took over, and its log counts from the beginning again."""

from datetime import UTC, datetime, timedelta

import pytest
from strandline_airflow.forms import epoch, replay
from strandline_airflow.runs.epochs import Epochs

from strandline.changes.rules import Epoch
from strandline.errors import SpecError

pytestmark = pytest.mark.heavy


def moment(record):
    return datetime.fromtimestamp(record.timestamp / 1000, UTC)


def declare(shop, **given):
    params = {name: param.resolve() for name, param in epoch.PARAMS.items()}
    return epoch.run(shop.source, {**params, "dry_run": False, **given}, datetime.now(UTC))


@pytest.fixture(scope="module")
def failed_over(shop):
    """One change before the failover and one after it that looks older."""
    shop.stream.change("c", 1, 500, name="ada")
    shop.arrive()
    shop.moment = moment(shop.stream.change("u", 1, 20, name="bob"))
    shop.land()
    since = shop.moment.isoformat()
    shop.planned = shop.trigger("epoch", dry_run=True, since=since)
    shop.planned_epochs = Epochs(shop.source).all()
    shop.states = shop.trigger("epoch", dry_run=False, since=since, note="failover to b")
    shop.arrive()
    return shop


def test_a_dry_run_declares_nothing(failed_over):
    assert failed_over.planned == {"declare": "skipped"}
    assert failed_over.planned_epochs == ()


def test_what_comes_after_a_declared_lineage_is_newer_whatever_its_position(failed_over):
    assert failed_over.states == {"declare": "success"}
    assert failed_over.history() == ["1: ada|update", "1: bob"]


def test_declaring_the_same_lineage_again_changes_nothing(failed_over):
    before = Epochs(failed_over.source).all()
    assert declare(failed_over, since=failed_over.moment.isoformat()) == 1
    assert Epochs(failed_over.source).all() == before


def test_what_was_applied_too_early_is_named_and_mended_by_a_replay(failed_over):
    # In the partition of the change before it the log would be seen to go back: the table is held.
    failed_over.stream.skip(2, partition=1)  # its Kafka time is the latest
    late = failed_over.stream.change("u", 1, 15, name="eve", partition=1)
    failed_over.arrive()
    assert failed_over.history() == ["1: ada|update", "1: eve|update", "1: bob"]
    assert epoch.applied_since(failed_over.source, moment(late)) == {"public.item": 1}
    assert declare(failed_over, since=moment(late).isoformat()) == 2
    failed_over.order(replay.FORM, dry_run=False, swap=True)
    assert failed_over.history() == ["1: ada|update", "1: bob|update", "1: eve"]


def test_a_moment_that_is_missing_malformed_or_too_early_says_what_to_do(failed_over):
    early = failed_over.moment - timedelta(days=1)
    for since, says in (
        (None, "'since' is missing"),
        ("yesterday", "must be like 2026-11-21T12:00:00Z"),
        (early.isoformat(), "goes into the source file"),
    ):
        with pytest.raises(SpecError, match=says):
            declare(failed_over, since=since)


def test_a_source_file_that_contradicts_what_was_declared_is_refused(failed_over):
    source = failed_over.source
    failed_over.says("[[epoch]]\nnumber = 1\nsince = 2020-01-01T00:00:00Z\n")
    assert source.default_rules.epochs == ()
    assert failed_over.source.default_rules.epochs == (Epoch(1, 1_577_836_800_000),)
    with pytest.raises(SpecError, match=r"epoch 1 was declared since .* take it out of the file"):
        Epochs(failed_over.source).all()
