"""The page on a lake of 500 tables, with 300 runs behind it and a million records in quarantine.

Each test prints how long its view took: docs/airflow.md has the figures.
"""

import json
import time
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from stages import page_stage
from stages.page_stage import NOON, client
from strandline_airflow.landing.zone import LandingZone
from strandline_airflow.runs.published import PUBLICATIONS, Published

from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts
from strandline.runs.segment import Landed
from strandline.sources import source as source_file

pytestmark = pytest.mark.heavy

TABLES, RUNS, REFUSED = 500, 300, 1_000_000
REASONS = ("invalid_json", "no_key", "no_position", "unknown_schema")
KEYS, VERSIONS = 200_000, 1_000_000
BIG = "t000"


@pytest.fixture(scope="module")
def large(tmp_path_factory, server):
    """A user's client on the page of such a lake."""
    folder = tmp_path_factory.mktemp("large")
    (folder / "sources").mkdir()
    (folder / "sources" / "shop.toml").write_text(
        f'connector = "postgresql"\nlake = "{folder / "lake"}"\n'
        '[kafka]\nconnection = "kafka_shop"\ntopic_prefix = "shop"\n'
    )
    lake = SourceLake(str(folder / "lake"), "shop")
    land(LandingZone(lake))
    publish(lake)
    refuse(lake)
    remember(lake)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("STRANDLINE_SOURCES", str(folder / "sources"))
        assert source_file.load(folder / "sources" / "shop.toml").name == "shop"
        yield client(server, "ann", "a")


def names():
    return [f"t{number:03}" for number in range(TABLES)]


def land(zone):
    zone.ensure()
    zone.register([Landed(f"shop.{name}", f"id-{name}", 0, 0, 1_000) for name in names()])


def publish(lake):
    """Runs every five minutes, in each of which a tenth of the tables has news."""
    rows = []
    for number in range(1, RUNS + 1):
        at = (NOON + timedelta(minutes=5 * number)).isoformat()
        for index, name in enumerate(names()):
            news = 100 if (index + number) % 10 == 0 else 0
            counts = Counts(landed=news, changes=news, history_rows=VERSIONS, current_rows=KEYS)
            row = Published(
                number, Work.COMPACT, name, f"shop.{name}", at, 1, {f"id-{name}": {0: 1_000}},
                counts, 0, news > 0, seconds=1.0, began_at=at, published_at=at,
            )  # fmt: skip
            rows.append(row.to_row())
    transactions = [("publication", RUNS)]
    write_deltalake(
        lake.publications,
        pa.Table.from_pylist(rows, PUBLICATIONS),
        commit_properties=properties(transactions),
    )


def properties(transactions):
    from deltalake import CommitProperties, Transaction  # noqa: PLC0415

    return CommitProperties(app_transactions=[Transaction(*each) for each in transactions])


def refuse(lake):
    """Most of them of one table, as when an upgrade of a connector goes wrong."""
    numbers = np.arange(REFUSED)
    of = np.where(numbers % 10 < 9, 0, numbers % TABLES)
    write_deltalake(
        lake.quarantine,
        pa.table(
            {
                "table": pa.array(names()).take(pa.array(of)),
                "topic": pa.array([f"shop.{name}" for name in names()]).take(pa.array(of)),
                "topic_id": pa.array([f"id-{name}" for name in names()]).take(pa.array(of)),
                "partition": pa.array(np.zeros(REFUSED, "int32")),
                "offset": pa.array(numbers),
                "timestamp": pa.array([NOON]).take(pa.array(np.zeros(REFUSED, "int32"))),
                "key": pa.array([b'{"id":1}']).take(pa.array(np.zeros(REFUSED, "int32"))),
                "value": pa.array([b"x" * 500 + bytes([65 + n]) for n in range(26)]).take(
                    pa.array(numbers % 26)
                ),
                "record_key": pa.array([f'{{"id":{n}}}' for n in range(1_000)]).take(
                    pa.array(numbers % 1_000)
                ),
                "reason": pa.array(REASONS).take(pa.array(numbers % 4)),
                "detail": pa.array(["where and why"]).take(pa.array(np.zeros(REFUSED, "int32"))),
                "run": pa.array(numbers // (REFUSED // RUNS)),
            }
        ),
    )


def remember(lake):
    """A history of a million versions, five to a key."""
    first = page_stage.version(0, '{"id":1}').cells()
    numbers = np.arange(VERSIONS)
    keys = pa.array([f'{{"id":{n}}}' for n in range(KEYS)]).take(pa.array(numbers % KEYS))
    begun = pa.array(numbers + int(NOON.timestamp() * 1e6), pa.int64())
    ended = pa.array(numbers + int(NOON.timestamp() * 1e6) + KEYS, pa.int64())
    last = pa.array(numbers >= VERSIONS - KEYS)
    own = {
        "_key": keys,
        "id": pa.array(numbers % KEYS),
        "_valid_from": begun.cast(pa.timestamp("us", "UTC")),
        "_valid_to": pa.compute.if_else(last, None, ended).cast(pa.timestamp("us", "UTC")),
        "_closed_by": pa.compute.if_else(last, None, pa.scalar("update")),
        "_is_current": last,
        "_is_head": last,
        "_seq_from": pa.array([f"{n:016x}" for n in numbers]),
        "_seq_to": pa.compute.if_else(last, None, pa.array([f"{n + KEYS:016x}" for n in numbers])),
        "_offset": pa.array(numbers),
    }
    schema = page_stage.HISTORY.append(pa.field("_is_head", pa.bool_()))
    same = pa.array(np.zeros(VERSIONS, "int32"))
    columns = {
        field.name: own.get(field.name)
        if field.name in own
        else pa.array([first[field.name]], field.type).take(same)
        for field in schema
    }
    write_deltalake(lake.history(BIG), pa.table(columns, schema=schema), partition_by=["_is_head"])


VIEWS = {
    "overview": ("", {}, "t499"),
    "search": ("", {"q": "T49"}, "t499"),
    "source": ("source", {"source": "shop"}, "t499"),
    "table": ("table", {"table": BIG}, "version of the history"),
    "quarantine": ("quarantine", {"table": BIG}, "page 1 of"),
    "quarantine, a reason": ("quarantine", {"table": BIG, "reason": "no_key"}, "no_key"),
    "quarantine, the last page": ("quarantine", {"table": BIG, "page": 1_000_000}, "[0]"),
    "quarantine of another table": ("quarantine", {"table": "t499"}, "page 1 of"),
    "changes": ("changes", {"table": BIG}, "199999"),
    "rows": ("rows", {"table": BIG, "at": NOON.isoformat()}, "first"),
    "rows of now": ("rows", {"table": BIG}, "first"),
    "key": ("key", {"table": BIG, "key": "777"}, "777"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_a_large_lake_shows_what_it_has(large, name, capsys):
    view, query, shown = VIEWS[name]
    asked = {"source": "shop", **query} if view else query
    took = []
    for _ in range(3):
        begin = time.perf_counter()
        answer = large.get(view, params=asked)
        took.append(time.perf_counter() - begin)
    assert answer.status_code == 200
    assert shown in answer.text
    with capsys.disabled():
        figures = {"view": name, "first": round(took[0], 3), "again": round(min(took[1:]), 3)}
        print(json.dumps({**figures, "kilobytes": len(answer.content) // 1024}))  # noqa: T201
