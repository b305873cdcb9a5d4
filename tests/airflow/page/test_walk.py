"""A walk through every view and form, in Airflow's frame: light and dark, wide and narrow.

Two recorded databases have been through the real line before: Kafka, landing, compaction. Each stop
leaves a picture in `.strandline/walk`; `make pictures` puts those into docs/ that are shown there.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.models.dag import DagModel
from airflow.models.pool import Pool
from airflow.utils.session import create_session
from playwright.sync_api import expect
from stages import airflow_stage, browser_stage
from stages.browser_stage import Visit, brightness, colour, contrast, served
from strandline_airflow.dag import source_dags
from strandline_airflow.listener import settings

from examples.captures import named
from examples.embedded_kafka import EmbeddedKafka
from strandline.changes.record import Coordinates, Record

pytestmark = pytest.mark.heavy

CAPTURE = named("postgres_inventory")
PICTURES = airflow_stage.PROJECT / ".strandline" / "walk"
TABLE = "source=postgres_inventory&table=public.orders"
TOPIC = "inventory.public.orders"
WIDTHS = {1440: 1000, 700: 1000}
SOURCE = f"""connector = "postgresql"
engine = "alone"
[kafka]
connection = "{CAPTURE.connection}"
topic_prefix = "inventory"
[schedule]
land = "*/5 * * * *"
compact = "*/30 * * * *"
"""
VIEWS = {
    "overview": "",
    "search": "?q=order",
    "source": "source?source=postgres_inventory",
    "table": f"table?{TABLE}",
    "key": f"key?{TABLE}&key=7",
    "changes": f"changes?{TABLE}",
    "rows": f"rows?{TABLE}&at=2026-11-20T23:41:57.5Z",
    "quarantine": f"quarantine?{TABLE}",
    "record": f"record?source=postgres_inventory&topic={TOPIC}&partition=0&offset=3",
    "message": f"key?{TABLE}&key=777777",
}
FORMS = (
    "backfill", "epoch", "erase", "maintain", "reconcile", "release", "replay", "requeue",
)  # fmt: skip


@pytest.fixture(scope="module")
def recorded():
    """A recorded database behind the line, one that lacks what it needs, and a file of mistakes."""
    with TemporaryDirectory(prefix="strandline-") as folder:  # pictures show its name
        yield from behind_the_line(Path(folder))


def behind_the_line(folder):
    airflow_stage.initialise_database()
    sources = folder / "sources"
    sources.mkdir()
    (sources / "postgres_inventory.toml").write_text(SOURCE)
    (sources / "warehouse.toml").write_text(SOURCE.replace(CAPTURE.connection, "kafka_warehouse"))
    (sources / "billing.toml").write_text(
        'connector = "postgres"\n[kafka]\nprefix = "billing"\n[schedule]\nland = 5\n'
    )
    with EmbeddedKafka() as broker, pytest.MonkeyPatch.context() as environment:
        environment.setenv("STRANDLINE_SOURCES", str(sources))
        environment.setenv("STRANDLINE_LAKE", str(folder / "lake"))
        environment.setenv(
            f"AIRFLOW_CONN_{CAPTURE.connection.upper()}",
            airflow_stage.kafka_connection(broker.bootstrap),
        )
        broker.create_topics_of(CAPTURE.records())
        path = sources / "postgres_inventory.toml"
        for wave in (1, 2):
            broker.replay(CAPTURE.wave(wave))
            if wave == 2:
                broker.replay(refused())
            run(path, "land")
            run(path, "compact")
        broker.replay(CAPTURE.wave(2)[:40])
        run(path, "land")
        DagBundlesManager().sync_bundles_to_db()
        # As the DAG processor does; by now there are tables for the forms to offer.
        environment.setenv("AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL", "0")
        sync_bag_to_db(DagBag(airflow_stage.PROJECT / "dags"), "dags-folder", None)
        with create_session() as session:
            session.add(Pool(**settings("strandline__postgres_inventory")))
            session.get(DagModel, "compact__postgres_inventory").is_paused = False
            session.get(DagModel, "land__postgres_inventory").is_paused = False
        yield folder


def refused():
    """What an upgrade that went wrong might send."""
    for number in range(60):
        value = b"{not json" if number % 3 else b'{"payload": {"op": "u"}}'
        key = f'{{"id":{number}}}'.encode()
        yield Record(Coordinates(TOPIC, 0, number), 1_795_218_116_230, key, value)


def run(path, what):
    """Runs a DAG of the source to its end."""
    dag = next(each for each in source_dags(path) if each.dag_id == f"{what}__{path.stem}")
    for task in dag.tasks:
        task.retries = 0
    assert str(dag.test().state) == "success"


@pytest.fixture(scope="module")
def address(server, recorded):  # noqa: ARG001 - what it serves
    with served(server) as address:
        yield address


@pytest.fixture(scope="module")
def chromium():
    with browser_stage.chromium() as browser:
        yield browser


@pytest.fixture(scope="module", params=[(w, t) for w in WIDTHS for t in ("light", "dark")])
def walk(request, chromium, server, address):
    """A window of a width in a theme; afterwards nothing has gone wrong in it."""
    width, theme = request.param
    size = {"width": width, "height": WIDTHS[width]}
    window = Visit(chromium, server, address, ("ann", "a"), viewport=size)
    window.choose(theme)
    yield window, width, theme
    window.context.close()
    assert window.wrong == []


def picture(window, name, width, theme):
    PICTURES.mkdir(parents=True, exist_ok=True)
    window.page.screenshot(path=PICTURES / f"{name}-{theme}-{width}.png", animations="disabled")


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_fits_the_frame_and_is_of_its_theme(walk, name):
    window, width, theme = walk
    frame = window.open_in_airflow(f"strandline/{VIEWS[name]}")
    expect(frame.get_by_role("heading", level=1)).to_be_visible()
    paper, ink = (colour(frame, of) for of in ("backgroundColor", "color"))
    assert (brightness(paper) > 0.5) == (theme == "light")
    assert contrast(paper, ink) >= 7
    whole = frame.locator("html").evaluate("e => e.scrollWidth <= e.clientWidth")
    assert whole, "the view is wider than its frame"
    picture(window, name, width, theme)


def test_what_a_truncate_did_is_reached_from_the_keys_that_changed_last(walk):
    window, width, theme = walk
    frame = window.open_in_airflow(f"strandline/{VIEWS['table']}".replace("orders", "promotions"))
    frame.get_by_role("link", name="Keys that changed last").click()
    truncated = frame.get_by_role("row").filter(has_text="table truncated")
    truncated.first.get_by_role("link").first.click()
    expect(frame.get_by_role("heading", level=1)).to_contain_text("What one change did")
    expect(frame.get_by_text("ended: table truncated").first).to_be_visible()
    picture(window, "change", width, theme)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_says_what_each_field_is(walk, name):
    window, width, theme = walk
    page = window.page
    page.goto(f"/dags/{name}__postgres_inventory")
    page.get_by_role("button", name="Trigger").click()
    form = page.get_by_role("dialog").filter(has_text="Trigger Dag")
    expect(form.get_by_text("Run Parameters")).to_be_visible()
    if name == "replay":
        form.locator("#element_tables input").first.fill("order")
        expect(page.get_by_role("option", name="public.order_items")).to_be_visible()
    picture(window, f"form-{name}", width, theme)
