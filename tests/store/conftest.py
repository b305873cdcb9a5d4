"""A store with a proxy before it, by which a test has requests fail; lakes in it."""

import pytest
from samples.events import Stream
from servers import store_proxy
from stages import s3_stage

from strandline.alone.capture import CaptureLake
from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake


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
