"""The page in a real browser: Chromium, headless, on a server that it reaches by loopback."""

import pytest
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from playwright.sync_api import expect
from sqlalchemy import select
from stages import browser_stage, page_stage
from stages.browser_stage import Visit, brightness, colour, contrast, fill_in, served

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("published")]

KEY = "key?source=shop&table=orders&key=1"


@pytest.fixture(scope="module")
def address(server):
    with served(server) as address:
        yield address


@pytest.fixture(scope="module")
def chromium():
    with browser_stage.chromium() as browser:
        yield browser


@pytest.fixture
def visit(chromium, server, address):
    """Opens windows; afterwards nothing has gone wrong in any."""
    visits = []

    def visit(user=("ann", "a"), **options):
        visits.append(Visit(chromium, server, address, user, **options))
        return visits[-1]

    yield visit
    for each in visits:
        each.context.close()
        assert each.wrong == []


def test_the_overview_leads_to_a_table_and_on_to_a_key_by_the_keyboard_alone(visit):
    page = visit().open()
    walk(page, "orders")
    expect(page.get_by_role("heading", level=1)).to_contain_text("orders")
    page.keyboard.press("Tab")
    page.get_by_role("textbox").first.focus()
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="Timeline of")).to_be_visible()


@pytest.mark.usefixtures("known_dags", "refused_once")
@pytest.mark.parametrize(
    ("view", "leads_to"),
    [
        ("", "/dags/watch__freshness"),
        ("quarantine?source=shop&table=orders", "/dags/requeue__shop"),
    ],
)
def test_in_the_frame_links_into_airflow_lead_the_whole_window(visit, view, leads_to):
    pause("watch__freshness")
    window = visit()
    frame = window.open_in_airflow(f"strandline/{view}")
    frame.get_by_role("link", name=leads_to.rpartition("/")[2]).first.click()
    window.page.wait_for_url(f"**{leads_to}")
    assert window.page.locator("iframe[title=Strandline]").count() == 0


def pause(dag):
    with create_session() as session:
        session.get(DagModel, dag).is_paused = True


def walk(page, name):
    """Tabs to the link of that name, and follows it."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if focused.count() and focused.inner_text().strip() == name:
            assert focused.evaluate("e => getComputedStyle(e).outlineStyle") != "none"
            page.keyboard.press("Enter")
            return
    pytest.fail(f"no way to {name} by the keyboard")


def test_a_bar_of_the_timeline_tells_its_values_and_leads_to_its_record(visit):
    page = visit().open(KEY)
    bars = page.locator("svg.timeline a")
    assert bars.count() == 3
    last = bars.nth(2)
    assert page_stage.EVIL in last.locator("title").text_content()
    last.hover()
    last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("3")
    assert "offset=3" in page.url


def test_what_a_row_says_is_shown_and_never_run(visit, quarantine):
    quarantine("orders", page_stage.EVIL, value=page_stage.EVIL.encode())
    window = visit()
    for view in (KEY, "quarantine?source=shop&table=orders", "table?source=shop&table=orders"):
        assert page_stage.EVIL in window.open(view).locator("body").text_content()


@pytest.mark.parametrize("view", ["", "table?source=shop&table=orders", KEY])
def test_light_and_dark_are_told_apart_and_both_can_be_read(visit, view):
    told = {}
    for scheme in ("light", "dark"):
        page = visit(color_scheme=scheme).open(view)
        paper, ink = (colour(page, of) for of in ("backgroundColor", "color"))
        assert contrast(paper, ink) >= 7  # WCAG 2, level AAA
        told[scheme] = paper
    assert brightness(told["light"]) > 0.8
    assert brightness(told["dark"]) < 0.1


@pytest.mark.parametrize("view", ["", "table?source=shop&table=orders", KEY])
@pytest.mark.parametrize(("system", "theme"), [("light", "dark"), ("dark", "light")])
def test_in_the_frame_the_theme_is_the_one_that_is_chosen_in_airflow(visit, system, theme, view):
    window = visit(color_scheme=system)
    window.choose(theme)
    frame = window.open_in_airflow(f"strandline/{view}")
    paper, ink = (colour(frame, of) for of in ("backgroundColor", "color"))
    assert (brightness(paper) > 0.5) == (theme == "light")
    assert contrast(paper, ink) >= 7


def test_a_theme_that_is_chosen_while_the_page_is_open_is_taken_at_once(visit):
    window = visit(color_scheme="light")
    frame = window.open_in_airflow()
    light = colour(frame, "backgroundColor")
    window.page.get_by_role("button", name="User").click()
    window.page.get_by_role("menuitem", name="Appearance").hover()
    window.page.get_by_role("menuitemradio", name="Dark Mode").click()
    before = f"rgb({', '.join(map(str, light))})"
    expect(frame.locator("body")).not_to_have_css("background-color", before)


@pytest.mark.parametrize("view", ["", "source?source=shop", "table?source=shop&table=orders", KEY])
def test_nothing_is_wider_than_a_small_window(visit, view):
    page = visit(viewport={"width": 420, "height": 800}).open(view)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


@pytest.mark.parametrize("width", [600, 800, 1440])
def test_the_versions_of_a_key_fit_the_window_and_show_a_whole_row_on_demand(visit, width):
    page = visit(viewport={"width": width, "height": 900}).open(KEY)
    versions = page.locator(".versions")
    assert versions.evaluate("e => e.scrollWidth <= e.parentElement.clientWidth")
    whole = versions.locator("details").first
    expect(whole.get_by_text("position")).to_be_hidden()
    whole.locator("summary").click()
    expect(whole.get_by_text("position")).to_be_visible()
    assert versions.evaluate("e => e.scrollWidth <= e.parentElement.clientWidth")


@pytest.mark.usefixtures("refused_once")
def test_the_button_reads_quarantined_records_again(visit):
    page = visit().open("quarantine?source=shop&table=orders&reason=invalid_json")
    page.get_by_role("button", name="again").first.click()
    expect(page.locator("body")).to_contain_text("requeue__shop")
    run = last_run("requeue")
    assert run.conf == {"tables": ["orders"], "reason": "invalid_json", "dry_run": False}
    assert run.triggering_user_name == "ann"


@pytest.mark.usefixtures("refused_once")
def test_a_viewer_is_shown_no_button(visit):
    page = visit(("vic", "v")).open("quarantine?source=shop&table=orders")
    expect(page.get_by_text("invalid_json").first).to_be_visible()
    assert page.get_by_role("button", name="again").count() == 0


FORMS = {
    "backfill": {"topics": "shop.orders\n", "start_offset": 0, "until": ("2026/11/20", "12:30")},
    "epoch": {"since": ("2026/11/20", "12:30"), "note": "it failed over"},
    "erase": {"table": "orders", "keys": '1\n{"id": 2}'},
    "maintain": {"tables": "orders", "optimize": False},
    "reconcile": {"table": "orders", "connection": "shop_db", "query": "SELECT 1", "correct": True},
    "release": {"tables": "orders", "why": "a clean-up"},
    "replay": {"tables": "orders", "swap": True},
    "requeue": {"tables": "orders", "reason": "invalid_json", "since": ("2026/11/20", "12:30")},
}
SENT = {"until": "2026-11-20T12:30:00.000Z", "since": "2026-11-20T12:30:00.000Z"}


@pytest.mark.usefixtures("known_dags")
@pytest.mark.parametrize("what", FORMS)
def test_a_form_of_airflow_starts_a_run_with_what_was_filled_in(visit, what):
    page = visit().page
    page.goto(f"/dags/{what}__shop")
    page.get_by_role("button", name="Trigger").click()
    form = page.get_by_role("dialog").filter(has_text="Trigger Dag")
    for field, value in {**FORMS[what], "dry_run": False}.items():
        fill_in(page, form, field, value)
    form.get_by_role("button", name="Trigger").click()
    page.wait_for_url(f"**/dags/{what}__shop/runs/**")
    sent = {name: SENT.get(name, value) for name, value in FORMS[what].items()}
    for lines in sent.keys() & {"topics", "tables", "keys"}:
        sent[lines] = sent[lines].split("\n")
    assert last_run(what).conf.items() >= {**sent, "dry_run": False}.items()


def last_run(what):
    with create_session() as session:
        query = select(DagRun).where(DagRun.dag_id == f"{what}__shop")
        return session.scalars(query.order_by(DagRun.id.desc())).first()


def test_who_has_not_logged_in_is_told_to(visit):
    expect(visit(None).open().locator("body")).to_contain_text("Log in to Airflow")


def test_it_works_below_another_path(chromium, monkeypatch):
    from airflow.api_fastapi import app as module  # noqa: PLC0415 - has a database

    below = "/deep/airflow"
    # The path of `[api] base_url`, which Airflow reads when it is imported.
    monkeypatch.setattr(module, "API_ROOT_PATH", f"{below}/")
    monkeypatch.setattr(module, "AUTH_MANAGER_FASTAPI_APP_PREFIX", f"{below}/auth")
    with page_stage.airflow() as app, served(app) as at:
        window = Visit(chromium, app, at, ("ann", "a"), below)
        page = window.open()
        page.get_by_role("link", name="orders", exact=True).first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("orders")
        assert page.url.startswith(f"{at}{below}/strandline/table?")
        window.context.close()
        assert window.wrong == []
