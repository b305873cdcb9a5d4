"""A store with a proxy before it, by which a test has requests fail; lakes in it."""

from dataclasses import replace

import pytest
from samples.events import Stream
from servers import store_proxy
from stages import driver_stage, s3_stage
from strandline_airflow.runs.folder import read_receipt

from strandline.alone.capture import CaptureLake
from strandline.alone.engine import histories
from strandline.cells import rendering
from strandline.engine import recorded_at
from strandline.law import in_runs
from strandline.runs.lake import SourceLake
from strandline.runs.way import Way

# S3A without patience, as delta-rs is in these tests.
HASTY = {
    "spark.hadoop.fs.s3a.attempts.maximum": "1",
    "spark.hadoop.fs.s3a.retry.limit": "1",
    "spark.hadoop.fs.s3a.retry.interval": "10ms",
    "spark.hadoop.fs.s3a.retry.throttle.limit": "1",
    "spark.hadoop.fs.s3a.retry.throttle.interval": "10ms",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with s3_stage.opened(tmp_path_factory.mktemp("s3")) as store:
        yield store


@pytest.fixture(scope="module")
def proxy(store, tmp_path_factory):
    with store_proxy.opened(tmp_path_factory.mktemp("proxy"), store.port) as proxy:
        yield proxy


@pytest.fixture
def reached(store, proxy, monkeypatch):
    """Sets delta-rs's way to the store, through the proxy: without patience unless told."""

    def reach(options=s3_stage.HASTY):
        variables = s3_stage.variables(proxy.endpoint, store.secret)
        for name, value in s3_stage.of_delta_rs(variables, **options).items():
            monkeypatch.setenv(name, value)

    reach()
    return reach


@pytest.fixture
def root(store, request):
    """Where a test has its lake."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    return f"s3a://{store.bucket}/{name[-60:]}"


@pytest.fixture
def capture(root, reached):  # noqa: ARG001 - by which it is reached
    """A lake whose runs go alone."""
    moment = recorded_at([Stream().change("c", 1, 1)])
    return CaptureLake(SourceLake(root, "shop"), "postgresql", moment)


@pytest.fixture(scope="module")
def begin(store, proxy, tmp_path_factory):
    """Starts a driver that reaches the store through the proxy."""
    reached = s3_stage.variables(proxy.endpoint, store.secret)
    variables = reached | s3_stage.of_delta_rs(reached, **s3_stage.HASTY)
    settings = s3_stage.of_spark(proxy.endpoint) | s3_stage.LOG_STORE | HASTY
    return lambda: driver_stage.opened(tmp_path_factory.mktemp("driver"), variables, settings)


@pytest.fixture(scope="module")
def runs(store, begin):
    """A driver and the runs that it has done; the tests reach the store itself."""
    with pytest.MonkeyPatch.context() as environment, begin() as driver:
        for name, value in store.environment.items():
            environment.setenv(name, value)
        yield Runs(driver, f"s3a://{store.bucket}/spread")


class Runs:
    """Runs of one table, each with a change of a row; one that failed is done before the next."""

    def __init__(self, driver, root):
        moment = recorded_at([Stream().change("c", 1, 1)])
        self.driver, self.stream, self.number, self.done = driver, Stream(), 0, 0
        self.capture = CaptureLake(SourceLake(root, "shop"), "postgresql", moment)
        self.heal(self.next())
        self.heal(self.next())  # the first that changes what is there, which takes other settings

    def next(self, way=Way.SPREAD):
        """The manifest of another run."""
        self.number += 1
        self.stream.change("u", 1, 10 * self.number, name=f"name {self.number}")
        self.capture.land(self.stream.records[-1:])
        own = self.stream.records[self.done :]
        return replace(self.capture.manifest(self.number, own), way=way)

    def said(self, manifest):
        """What the driver says of an attempt at its table, and whether that can pass by itself."""
        assert self.driver.attempt(manifest) is None
        (table,) = read_receipt(manifest).tables
        return table.error, table.transient

    def heal(self, manifest):
        """The next attempt leaves the history that the law makes of all runs; its receipt."""
        receipt = self.driver.done(manifest)
        self.done = len(self.stream.records)
        law = in_runs([self.stream.records], recorded_at=self.capture.moment)
        meant = [rendering.line(t.topic, v.cells()) for t in law.tables for v in t.versions]
        (table,) = receipt.tables
        assert (table.error, table.way) == (None, manifest.way)
        assert [rendering.line(*row) for row in histories(self.capture.lake, [receipt])] == meant
        return table
