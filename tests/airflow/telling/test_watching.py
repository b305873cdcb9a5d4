"""The watch: who is told what, through real notifiers, and what is left where somebody is not."""

import asyncio
import json
import traceback
from datetime import UTC, datetime, timedelta

import pytest
from airflow.sdk import BaseNotifier
from servers import receivers
from servers.receivers import MAIL, TO_HOOK, TO_MAIL, WEBHOOK, connection
from strandline_airflow import notifiers
from strandline_airflow.dag import Loaded, load, source_dags, watch_dag
from strandline_airflow.ledger import Superseded
from strandline_airflow.monitoring import watching
from strandline_airflow.monitoring.watching import Watcher
from strandline_airflow.notifiers import Message, identity, send
from strandline_airflow.pipelines.names import REFUSED

from examples.embedded_kafka import NOBODY
from strandline.errors import SpecError, StrandlineError, Terminal, Transient
from strandline.runs.manifest import Work
from strandline.sources import source as source_file
from strandline.sources.source import NotifierSpec

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ORDERS = "shop.orders"


@pytest.fixture(autouse=True)
def airflow(monkeypatch, airflow_database):
    assert airflow_database is None
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/flow")


@pytest.fixture
def watcher(source_path):
    """Watchers of source `shop` with these notifiers in its file."""

    def build(sections=""):
        source_path.write_text(source_path.read_text() + sections)
        return Watcher(source_file.load(source_path))

    return build


@pytest.fixture
def hold(arrive, publish):
    """Publishes a run that cannot apply table `orders`, and one that can."""

    def run(error="column <x>: text is no int"):
        arrive(ORDERS, 1)
        publish(**({"orders": {"error": error}} if error else {}))

    return run


def minutes(number):
    return NOON + timedelta(minutes=number)


def test_mail_and_webhook_are_told_once_when_it_starts_and_once_when_it_ends(
    watcher, hold, mails, hook
):
    watch = watcher(TO_MAIL + TO_HOOK)
    hold()
    for number in range(3):
        watch.look(minutes(number))
    assert [mail["subject"] for mail in mails] == ["Strandline: shop: orders: held"]
    assert mails[0]["to"] == "ops@example.com"
    body = mails[0].get_body(("html",)).get_content()
    assert "held, since 2026-11-20 12:00 UTC" in body
    assert "column &lt;x&gt;: text is no int" in body
    assert "https://airflow.example.com/flow/strandline/table?source=shop&amp;table=orders" in body
    (post,) = hook.posts
    (alert,) = post["alerts"]
    assert (alert["table"], alert["kind"], alert["ended"]) == ("orders", "held", False)
    assert (
        alert["url"] == "https://airflow.example.com/flow/strandline/table?source=shop&table=orders"
    )
    hold(error=None)
    for number in range(3, 6):
        watch.look(minutes(number))
    assert [mail["subject"] for mail in mails][1:] == ["Strandline: shop: orders: over: held"]
    assert [post["alerts"][0]["ended"] for post in hook.posts] == [False, True]


def test_a_table_that_is_held_stays_so_through_maintenance_and_nobody_is_told_that_it_is_over(
    watcher, hold, order, hook
):
    watch = watcher(TO_HOOK)
    hold()
    watch.look(NOON)
    order(Work.MAINTAIN, minutes(1))
    watch.look(minutes(2))
    assert [post["title"] for post in hook.posts] == ["Strandline: shop: orders: held"]


def test_an_order_that_fails_is_no_alert(watcher, arrive, publish, order, hook):
    watch = watcher(TO_HOOK)
    arrive(ORDERS, 1)
    publish()
    order(Work.RECONCILE, minutes(1), orders={"error": "no such path: /x.csv"})
    watch.look(minutes(2))
    assert hook.posts == []


def test_while_compaction_stands_still_an_order_does_not_say_that_something_is_published(
    watcher, arrive, publish, order, zone, hook
):
    watch = watcher(TO_HOOK)
    arrive(ORDERS, 1)
    publish(zone.landed_at())
    arrive(ORDERS, 1)
    late = zone.landed_at() + timedelta(hours=3)
    watch.look(late)
    order(Work.MAINTAIN, late + timedelta(minutes=1))
    watch.look(late + timedelta(minutes=2))
    assert [post["title"] for post in hook.posts] == ["Strandline: shop: nothing is published"]
    assert "(its last: run 1)" in hook.posts[0]["text"]


def test_everything_that_is_new_at_once_is_one_message(watcher, arrive, publish, hook):
    watch = watcher(TO_HOOK)
    for table in ("a", "b", "c"):
        arrive(f"shop.{table}", 1)
    publish(**{table: {"error": "no"} for table in ("a", "b", "c")})
    watch.look(NOON)
    (post,) = hook.posts
    assert post["title"] == "Strandline: shop: a: held, and 2 more"
    assert len(post["alerts"]) == 3
    assert post["url"].endswith("/strandline/source?source=shop")


@pytest.mark.parametrize("answer", [500, 0])
def test_what_a_webhook_does_not_take_is_kept_for_it_alone(
    watcher, hold, mails, hook, answer, monkeypatch
):
    monkeypatch.setattr(notifiers, "PATIENCE_SECONDS", 0.2)
    watch = watcher(TO_MAIL + TO_HOOK)
    hold()
    hook.status = answer
    with pytest.raises(Transient, match="webhook of Airflow connection 'ops_hook'") as refused:
        watch.look(NOON)
    assert "127.0.0.1" not in str(refused.value)  # an address may be a secret
    hook.released.set()
    hook.status = 200
    watch.look(minutes(5))
    watch.look(minutes(10))
    assert (len(mails), len(hook.posts)) == (1, 1)


def test_a_webhook_that_takes_nothing_is_asked_once_a_look_and_by_another_letter_each_time(
    watcher, hold, mails, hook
):
    watch = watcher(TO_HOOK + TO_MAIL)
    hook.status = 500
    for number in range(3):
        hold(error=None if number % 2 else "column x: text is no int")
        with pytest.raises(Transient):
            watch.look(minutes(number))
        assert (len(hook.headers), len(mails)) == (number + 1, number + 1)
    hook.status = 200
    watch.look(minutes(4))
    begun, over = "Strandline: shop: orders: held", "Strandline: shop: orders: over: held"
    assert sorted(post["title"] for post in hook.posts) == [begun, begun, over]


def test_a_missing_connection_is_named_and_nothing_is_lost(watcher, hold, request):
    watch = watcher(TO_HOOK)
    hold()
    with pytest.raises(Terminal, match="no Airflow connection 'ops_hook': create it"):
        watch.look(NOON)
    hook = request.getfixturevalue("hook")
    watch.look(minutes(5))
    assert len(hook.posts) == 1


def test_a_watcher_that_died_before_it_told_is_made_good_by_the_next_look(
    watcher, hold, hook, monkeypatch
):
    watch = watcher(TO_HOOK)
    hold()
    with monkeypatch.context() as dying:
        dying.setattr(watching, "_undelivered", _die)
        with pytest.raises(KeyboardInterrupt):
            watch.look(NOON)
    assert hook.posts == []
    watch.look(minutes(5))
    assert len(hook.posts) == 1


def _die(*_):
    raise KeyboardInterrupt


def test_of_two_watchers_at_once_one_tells(watcher, hold, hook, monkeypatch):
    watch, other = watcher(TO_HOOK), watcher()
    hold()
    judged = watching.look

    def overtaken(*arguments):
        monkeypatch.setattr(watching, "look", judged)
        other.look(NOON)
        return judged(*arguments)

    monkeypatch.setattr(watching, "look", overtaken)
    with pytest.raises(Superseded):
        watch.look(NOON)
    watch.look(minutes(5))
    assert len(hook.posts) == 1


def test_what_nobody_takes_for_a_day_is_dropped(watcher, hold, hook):
    watch = watcher(TO_HOOK)
    hold()
    hook.status = 500
    with pytest.raises(Transient):
        watch.look(NOON)
    watch.look(NOON + timedelta(days=1, minutes=1))
    hook.status = 200
    watch.look(NOON + timedelta(days=1, minutes=2))
    assert hook.posts == []


def test_landing_that_stands_still_is_told_from_what_kafka_says(
    watcher, arrive, connected, record, hook
):
    arrive(ORDERS, 3)
    connected.replay([record(topic=ORDERS)] * 4)
    watch = watcher('[[table]]\ntopic = "shop.orders"\nfreshness = "10m"\n' + TO_HOOK)
    kinds = [[alert.condition.kind for alert in watch.look(minutes(n))] for n in (0, 5, 11, 15)]
    assert kinds == [[], [], ["landing"], []]
    assert "Kafka has 4 offsets more of orders, and land__shop" in hook.posts[0]["text"]


def test_the_dag_looks_at_every_source_for_itself(source_path, hold, hook):
    text = source_path.read_text()
    source_path.write_text(text + TO_HOOK)
    broken = source_path.with_name("broken.toml")
    broken.write_text(text + TO_HOOK.replace("WebhookNotifier", "Nothing"))
    hold()
    sources = tuple(map(source_file.load, (source_path, broken)))
    run = watch_dag(sources).test()
    states = {task.task_id: task.state for task in run.get_task_instances()}
    # The broken one has nothing to tell.
    assert states == dict.fromkeys(("shop", "broken", "_refused_files"), "success")
    assert len(hook.posts) == 1


def test_a_dag_that_fails_is_told_once_whatever_it_fails_of(source_path, connected, hook):
    """Here of a partition that does not answer, which nothing in the lake speaks of."""
    source_path.write_text(source_path.read_text() + TO_HOOK)
    watch, land = watch_dag([source_file.load(source_path)]), source_dags(source_path)[0]
    connected.create_topic("shop.t", 2)
    for minute, leader in ((60, 1), (65, NOBODY), (70, NOBODY), (75, 1)):
        connected.move_leader("shop.t", 1, leader)
        land.test()
        watch.test(logical_date=minutes(minute), run_after=minutes(minute))
    begun, over = (post["alerts"][0] for post in hook.posts)
    assert (begun["kind"], begun["ended"]) == ("land_fails", False)
    assert "a run of land__shop has failed" in begun["cause"]
    assert (over["kind"], over["ended"]) == ("land_fails", True)


# ---------------------------------------------------- a source file that is refused


@pytest.fixture
def one_refused(source_path):
    """The folder has a file that is right, and whose notifier is the hook, and one that is not."""
    source_path.write_text(source_path.read_text() + TO_HOOK)
    source_path.with_name("wrong.toml").write_text('connector = "postgre"')
    return load(source_path.parent)


def watched(loaded, minute):
    run = watch_dag(loaded.sources, loaded.refused).test(
        logical_date=minutes(minute), run_after=minutes(minute)
    )
    return {task.task_id: task.state for task in run.get_task_instances()}


def test_a_source_file_that_is_refused_is_told_once_an_hour_until_it_is_mended(one_refused, hook):
    assert watched(one_refused, 7) == {"shop": "success", "_refused_files": "failed"}
    for minute in (12, 57, 60):
        watched(one_refused, minute)
    for post in hook.posts:
        assert post["title"] == "Strandline: a source file is refused"
        assert "wrong.toml" in post["text"]
        assert "postgre" in post["text"]
    assert [post["alerts"][0]["since"][11:16] for post in hook.posts] == ["12:07", "13:00"]
    mended = Loaded(one_refused.sources, (), ())
    assert watched(mended, 65) == {"shop": "success", "_refused_files": "success"}
    assert len(hook.posts) == 2


def test_no_source_can_be_called_as_the_task_that_tells_of_refused_files(source_path):
    path = source_path.rename(source_path.with_name(f"{REFUSED}.toml"))
    with pytest.raises(SpecError, match="name"):
        source_file.load(path)


def test_of_a_refused_file_those_are_told_whom_the_environment_names(
    one_refused, hook, mails, monkeypatch
):
    text = json.dumps([{"class": MAIL, "arguments": {"to": "ops@example.com"}}])
    monkeypatch.setenv("STRANDLINE_NOTIFIERS", text)
    watched(one_refused, 7)
    assert not hook.posts
    (mail,) = mails
    assert "a source file is refused" in mail["subject"]


# ---------------------------------------------------- a lake that cannot be read


@pytest.fixture
def unreadable(tmp_path):
    """A lake that is no folder."""
    (tmp_path / "lake").write_text("a file where the lake should be")


@pytest.mark.usefixtures("unreadable")
def test_a_lake_that_cannot_be_read_is_told_to_everybody_who_can_be(watcher, mails):
    watch = watcher(TO_HOOK + TO_MAIL)  # the webhook has no connection
    with pytest.raises(Terminal, match="the lake cannot be used at"):
        watch.look(minutes(7))
    (mail,) = mails
    assert mail["subject"] == "Strandline: shop: cannot be watched"
    text = mail.get_body(("html",)).get_content()
    assert "the lake cannot be used at" in text
    assert "strandline/source?source=shop" in text


@pytest.mark.usefixtures("unreadable")
def test_a_lake_that_stays_unreadable_is_told_once_an_hour(watcher, hook):
    watch = watcher(TO_HOOK)
    for minute in (47, *range(50, 180, 5)):
        with pytest.raises(Terminal):
            watch.look(minutes(minute), failed_before=minute != 47)
    since = [post["alerts"][0]["since"] for post in hook.posts]
    assert since == [minutes(minute).isoformat() for minute in (47, 60, 120)]


def test_a_lake_that_the_next_try_may_read_is_not_told_by_the_first(watcher, hook, monkeypatch):
    watch = watcher(TO_HOOK)
    monkeypatch.setattr(watching.catalogue, "standing", _unavailable)
    for last_try in (False, True):
        with pytest.raises(Transient, match="unavailable"):
            watch.look(NOON, last_try=last_try)
    (post,) = hook.posts
    assert post["alerts"][0]["kind"] == "unwatched"


def _unavailable(*_, **__):
    raise Transient("Delta table /lake: unavailable")


def test_what_nobody_foresaw_is_told_without_its_text(watcher, hook, monkeypatch):
    watch = watcher(TO_HOOK)
    monkeypatch.setattr(watching.catalogue, "standing", lambda *_, **__: {}["secret"])
    with pytest.raises(KeyError):
        watch.look(NOON)
    (post,) = hook.posts
    assert "KeyError: the log of watch__freshness" in post["text"]
    assert "secret" not in post["text"]


@pytest.mark.usefixtures("unreadable")
def test_the_dag_knows_that_the_look_before_has_failed(source_path, hook):
    source_path.write_text(source_path.read_text() + TO_HOOK)
    dag = watch_dag([source_file.load(source_path)])
    for minute in (7, 12):
        assert dag.test(logical_date=minutes(minute), run_after=minutes(minute)).state == "failed"
    assert len(hook.posts) == 1


# ---------------------------------------------------- notifiers


def test_the_environment_names_notifiers_for_sources_that_name_none(source):
    text = json.dumps([{"class": MAIL, "arguments": {"to": "x"}}])
    assert notifiers.configured(source, {"STRANDLINE_NOTIFIERS": text}) == (
        NotifierSpec(MAIL, {"to": "x"}),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}x", "no JSON: Extra data"),
        ("[" * 100_000, "no JSON: nested too deeply"),
        ("{}", "no list"),
        ("5", "no list"),
        ("[1]", "notifier 1 is no object"),
        ('[{"klass": "x"}]', "notifier 1: 'class' is missing"),
        ('[{"class": null}]', "notifier 1: 'class' is missing"),
        ('[{"class": "a.B"}, {"class": "mail"}]', "notifier 2: 'class' must be the import path"),
        ('[{"class": "a.B", "to": "x"}]', "'to'; allowed are arguments, class"),
        ('[{"class": "a.B", "arguments": null}]', "'arguments' must be a table, not null"),
        ('[{"class": "a.B", "arguments": ["s3cret"]}]', "'arguments' must be a table, not a list"),
        ('[{"class": "https://x/s3cret"}]', "notifier 1: 'class' must be the import path"),
    ],
)
def test_notifiers_of_the_environment_are_checked_as_those_of_a_file(source, text, said):
    with pytest.raises(SpecError) as refused:
        notifiers.configured(source, {"STRANDLINE_NOTIFIERS": text})
    told = str(refused.value)
    assert told.startswith("STRANDLINE_NOTIFIERS: ")
    assert said in told
    assert "it must be a JSON list of objects such as" in told
    assert "s3cret" not in told


def test_notifiers_of_the_environment_may_be_none(source):
    assert notifiers.configured(source, {"STRANDLINE_NOTIFIERS": "[]"}) == ()


@pytest.mark.parametrize(
    ("path", "arguments", "said"),
    [
        ("no.such.Notifier", {}, "cannot be imported"),
        ("strandline_airflow.notifiers.Message", {}, "is no Airflow notifier"),
        (MAIL, {"too": "x"}, "refuses its 'arguments'"),
    ],
)
def test_a_notifier_that_cannot_be_made_is_told_why(path, arguments, said):
    with pytest.raises(Terminal, match=said):
        send(NotifierSpec(path, arguments), Message("t", "x", ""))


class Collector(BaseNotifier):
    """A notifier whose fields have the names of what is to be said, as Slack's and Apprise's do."""

    template_fields = ("title", "text", "body")
    told = []  # noqa: RUF012 - where the test looks

    def __init__(self, title, text, body, **kwargs):
        super().__init__(**kwargs)
        self.title, self.text, self.body = title, text, body

    def notify(self, context):
        assert context
        Collector.told.append((self.title, self.text, self.body))


class Leaky(BaseNotifier):
    """A notifier whose errors hold its address, as those of requests do."""

    def __init__(self, url, when="told", **kwargs):
        super().__init__(**kwargs)
        self.url = url
        if when == "made":
            raise ValueError(f"no such host: {url}")

    def notify(self, context):
        assert context
        raise OSError(f"Max retries exceeded with url: {self.url}")


def _send_from_trigger(spec, message):
    asyncio.run(notifiers.send_from_trigger(spec, message))


@pytest.mark.parametrize("when", ["made", "told"])
@pytest.mark.parametrize("sending", [send, _send_from_trigger])
def test_no_text_of_a_notifiers_error_gets_out(monkeypatch, caplog, when, sending):
    monkeypatch.setattr(notifiers, "import_string", lambda _: Leaky)
    spec = NotifierSpec("a.Leaky", {"url": "/services/T0/secret", "when": when})
    with pytest.raises(StrandlineError, match=r"a\.Leaky") as failed:
        sending(spec, Message("t", "x", ""))
    told = "".join(traceback.format_exception(failed.value))
    assert "secret" not in told + caplog.text


def test_the_header_that_a_webhook_refuses_is_not_told(monkeypatch):
    with receivers.web_server() as (port, _):
        fields = {"schema": "http", "port": port, "password": "sec\nret"}
        connection(monkeypatch, "ops_hook", conn_type="http", **fields)
        with pytest.raises(Transient) as failed:
            send(NotifierSpec(WEBHOOK, {"http_conn_id": "ops_hook"}), Message("t", "x", ""))
    assert "sec" not in "".join(traceback.format_exception(failed.value))


@pytest.mark.parametrize(
    "host",
    [
        "{name}",
        "{name}:{port}",
        "http://{name}",
        "http://{name}:{port}",
        "http://{name}/services/x",
        "{name}/services/x",
    ],
)
def test_a_webhook_is_asked_at_the_port_of_its_connection_however_its_host_is_written(
    monkeypatch, host
):
    with receivers.web_server() as (port, hook):
        fields = {"schema": "http", "host": host.format(name="127.0.0.1", port=port), "port": port}
        connection(monkeypatch, "ops_hook", conn_type="http", **fields)
        send(NotifierSpec(WEBHOOK, {"http_conn_id": "ops_hook"}), Message("t", "x", ""))
    assert [post["title"] for post in hook.posts] == ["t"]


def test_parameters_that_are_meant_for_a_message_are_filled_in(monkeypatch):
    monkeypatch.setattr(notifiers, "import_string", lambda _: Collector)
    send(
        NotifierSpec("a.Collector", {"body": "see {{ strandline.url }}"}),
        Message("T", "x {{ y }}", "u"),
    )
    assert Collector.told == [("T", "T\nx {{ y }}", "see u")]


def test_two_notifiers_of_one_class_are_told_apart_without_their_secrets():
    one, two = (identity(NotifierSpec(MAIL, {"to": to})) for to in ("secret-a", "secret-b"))
    assert one != two
    assert "secret" not in one


def test_a_message_has_each_of_its_addresses_once_as_a_link():
    one, two = "https://x/?table=a&b", "https://x/?table=c"
    alerts = ({"url": one}, {"url": two})
    html = Message("t", f"first\n{one}\nsecond\n{two}\nhttps://of/a/record", one, alerts).html
    link = '<a href="https://x/?table=a&amp;b">https://x/?table=a&amp;b</a>'
    assert html.startswith(f"<p>first</p><p>{link}</p><p>second</p>")
    assert html.count("<a ") == 2
    assert html.endswith("<p>https://of/a/record</p>")


def test_a_message_cannot_become_markup():
    html = Message("t", "<script>\nsecond", 'https://x/?a="b"').html
    assert html.startswith("<p>&lt;script&gt;</p><p>second</p>")
    assert '"b"' not in html
