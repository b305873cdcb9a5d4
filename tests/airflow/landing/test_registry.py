"""Landing looks schemas up: each once, before the records that name it, and without their fate."""

import json
from datetime import date

import pytest
from servers import certificates, registry_server
from strandline_airflow.registry import lookup
from strandline_airflow.registry.lookup import Lookup

from strandline.alone.stores import schemas
from strandline.formats.registry.schemas import SchemaType, StoredSchema
from strandline.runs.segment import Segment, newcomers
from strandline.sources import source as source_file

TOPIC = "shop.t"
TODAY = date(2026, 11, 20)
TEXT = '"string"'
GUID = "89791762-2336-4186-9674-299b90a802e2"
SECRET = "Tr0ub4dor"  # noqa: S105 - of nobody


def framed(number, body=b"body"):
    return b"\0" + number.to_bytes(4) + body


@pytest.fixture
def registry():
    with registry_server.opened() as registry:
        registry.schemas |= {"1": TEXT, "2": '"long"'}
        yield registry


@pytest.fixture
def connect(monkeypatch):
    """Writes the Airflow connection of the registry."""

    def write(*urls, **fields):
        extra = {"urls": list(urls), **fields.pop("extra", {})}
        connection = {"conn_type": "http", "extra": extra, **fields}
        monkeypatch.setenv("AIRFLOW_CONN_SHOP_REGISTRY", json.dumps(connection))

    return write


@pytest.fixture
def says(source_path, registry, connect):
    """The source with such a [registry] section, and what has the lookup of a new task."""
    connect(registry.url)

    def load(more=""):
        plain = source_path.read_text().partition("[registry]")[0]
        section = f'[registry]\nconnection = "shop_registry"\n{more}'
        source_path.write_text(plain + section)
        return source_file.load(source_path)

    return load


ONCE = "retries = 0\n"
IMPATIENT = f'timeout = "1s"\n{ONCE}'


@pytest.fixture
def land(says, connected, zone, kafka, record):
    """Lands records with these values, and perhaps keys; the offsets that are landed then."""
    connected.create_topic(TOPIC, 1)
    topic_id = kafka.topic_ids([TOPIC])[TOPIC]
    sent = []

    def run(*values, more=ONCE, then=lambda _: None, **fields):
        new = [record(len(sent) + n, value=value, **fields) for n, value in enumerate(values)]
        connected.replay(new)
        segment = Segment(TOPIC, topic_id, 0, 0, len(sent) + len(new))
        sent.extend(new)
        zone.register(newcomers(kafka.barrier(lambda _: True).watermarks, zone.landed()))
        lookup = Lookup(says(more))

        def before(batches):
            lookup.land(batches)
            then(batches)

        zone.land(kafka, [segment], TODAY, 1 << 20, before)
        return sum(state.next_offset for state in zone.landed())

    return run


def test_a_schema_is_looked_up_once_and_stored_with_its_name(land, lake, registry):
    land(framed(1), framed(1, b"other"), b'{"json": 1}', None)
    land(framed(1))
    assert registry.asked == ["/schemas/ids/1", "/schemas/ids/1/versions?deleted=true"]
    assert schemas.known(lake.schemas).known == {
        "confluent:1": StoredSchema("confluent:1", TEXT, SchemaType.AVRO, (), "subject-of-1")
    }


def test_a_schema_is_stored_before_the_records_that_name_it(land, lake, zone, registry):
    def killed(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        land(framed(1), then=killed)
    assert "confluent:1" in schemas.known(lake.schemas).known
    assert zone.version() == 0  # nothing is landed
    assert land(framed(1)) == 2
    assert len(registry.asked) == 2


def test_keys_and_headers_name_schemas_too(land, lake, registry):
    registry.schemas[GUID] = TEXT
    header = ("__value_schema_id", b"\1" + bytes.fromhex(GUID.replace("-", "")))
    land(b"body", key=framed(2), headers=(("other", b"x"), header))
    assert schemas.known(lake.schemas).known.keys() == {"confluent:2", f"guid:{GUID}"}


def test_a_schema_comes_with_all_that_it_refers_to(land, lake, registry):
    def referring(name):
        return [{"name": name, "subject": name, "version": 4}]

    registry.schemas["3"] = {
        "schema": '"c"', "schemaType": "JSON", "references": referring("b/b"),
    }  # fmt: skip
    registry.subjects["b%2Fb", "4"] = {
        "subject": "b/b", "id": 8, "version": 4, "schema": '"b"', "schemaType": "JSON",
        "references": referring("a"),
    }  # fmt: skip
    registry.subjects["a", "4"] = {"subject": "a", "id": 9, "version": 4, "schema": '"a"'}
    land(framed(3))
    found = schemas.known(lake.schemas)
    assert found.known["confluent:3"].references == ("confluent:8",)
    assert found.known["confluent:8"].references == ("confluent:9",)
    assert found.texts(found.known["confluent:3"]) == ('"a"', '"b"')


@pytest.mark.parametrize("failing", [503, 0, 401, 404])
def test_records_are_landed_whatever_the_registry_says_and_the_reason_is_kept(
    failing, land, lake, registry
):
    registry.failing = failing
    assert land(framed(1), b"{}", more=ONCE if failing else IMPATIENT) == 2
    found = schemas.known(lake.schemas)
    assert not found.known
    why = found.unknown(["confluent:1"])
    assert "confluent:1" in why
    assert registry.url in why
    assert "'shop_registry'" in why
    assert (str(failing) if failing else "did not answer in 1 s") in why


def test_what_was_asked_for_in_vain_is_asked_for_by_the_next_landing(land, lake, says, registry):
    registry.failing = 503
    land(framed(1), framed(2))
    version = schemas.version(lake.schemas)
    Lookup(says(ONCE)).again()
    assert schemas.version(lake.schemas) == version  # the same reason is written once
    registry.failing = 200
    Lookup(says()).again()
    found = schemas.known(lake.schemas)
    assert found.known.keys() == {"confluent:1", "confluent:2"}
    assert not found.faults


def test_a_registry_that_is_silent_is_asked_for_three_schemas_by_a_task_and_no_more(land, registry):
    registry.failing = 503
    land(*(framed(number) for number in range(1, 6)))
    assert registry.asked == [f"/schemas/ids/{number}" for number in (1, 2, 3)]


def test_a_registry_that_refuses_some_ids_between_those_at_which_it_fails_is_not_silent(
    land, lake, registry
):
    for number in range(1, 6):
        registry.schemas[str(number)] = (500 if number % 2 else 403), {"message": "broken"}
    registry.schemas["6"] = TEXT
    land(*(framed(number) for number in range(1, 7)))
    assert schemas.known(lake.schemas).known.keys() == {"confluent:6"}


def test_an_id_at_which_the_registry_always_fails_keeps_no_other_from_being_asked_for(
    land, lake, says, registry
):
    for name in "1234":
        registry.schemas[name] = 500, {"message": "broken"}
    registry.schemas["5"] = TEXT
    land(*(framed(number) for number in range(1, 6)))
    assert not schemas.known(lake.schemas).known
    for _ in range(100):  # each time it is among the first three with a chance of three in five
        if not schemas.known(lake.schemas).known:
            Lookup(says(ONCE)).again()
    assert schemas.known(lake.schemas).known.keys() == {"confluent:5"}


def test_an_answer_that_has_no_end_is_given_up_in_time(land, lake, registry):
    registry.dripping = True
    assert land(framed(1), more=IMPATIENT) == 1
    assert "did not answer in 1 s" in schemas.known(lake.schemas).faults["confluent:1"]


def test_an_answer_beyond_any_size_is_not_read_to_its_end(land, lake, registry):
    registry.schemas["1"] = "x" * (17 << 20)
    assert land(framed(1)) == 1
    assert "more than 16,777,216 bytes" in schemas.known(lake.schemas).faults["confluent:1"]


def test_a_task_asks_for_so_many_schemas_and_leaves_the_others_to_the_next(
    land, lake, says, registry, monkeypatch
):
    monkeypatch.setattr(lookup, "_MOST", 2)
    registry.schemas.update(dict.fromkeys("1234", TEXT))
    assert land(*(framed(number) for number in range(1, 5))) == 4
    found = schemas.known(lake.schemas)
    assert found.known.keys() == {"confluent:1", "confluent:2"}
    assert "this one has to wait" in found.faults["confluent:4"]
    Lookup(says()).again()
    assert len(schemas.known(lake.schemas).known) == 4


def test_a_schema_that_several_refer_to_is_asked_for_once(land, lake, registry):
    levels = 12
    for level in range(levels):
        below = [{"name": name, "subject": f"s{level + 1}", "version": 1} for name in "ab"]
        registry.subjects[f"s{level}", "1"] = {
            "subject": f"s{level}", "id": 100 + level, "version": 1, "schema": f'"s{level}"',
            "references": below if level + 1 < levels else [],
        }  # fmt: skip
    registry.schemas["3"] = registry.subjects["s0", "1"]
    land(framed(3))
    assert len(registry.asked) == 2 * levels
    found = schemas.known(lake.schemas)
    assert len(found.texts(found.known["confluent:3"])) == levels - 1


def test_a_registry_that_refuses_one_id_is_asked_for_the_others(land, lake, registry):
    registry.schemas["1"] = 403, {"error_code": 40301, "message": "not for you"}
    land(framed(1), framed(2))
    found = schemas.known(lake.schemas)
    assert found.known.keys() == {"confluent:2"}
    assert "answered 403: not for you" in found.faults["confluent:1"]


@pytest.mark.parametrize(
    "answer",
    [[], "text", {}, {"schema": None}, {"schema": {"type": "string"}}, {"schema": '"\ud800"'}],
)
def test_an_answer_that_is_none_of_a_registry_holds_up_no_record(answer, land, lake, registry):
    registry.schemas["1"] = 200, answer
    assert land(framed(1), framed(2)) == 2
    found = schemas.known(lake.schemas)
    assert found.known.keys() == {"confluent:2"}
    assert "answers as no registry does" in found.faults["confluent:1"]


def test_a_reason_with_half_a_letter_is_stored_without_it(land, lake, registry):
    registry.schemas["1"] = 404, {"message": "no \ud800"}
    assert land(framed(1)) == 1
    assert "answered 404: no ?" in schemas.known(lake.schemas).faults["confluent:1"]


def test_an_answer_that_cannot_be_unpacked_holds_up_no_record(land, lake, registry):
    registry.encoding = "gzip"
    assert land(framed(1)) == 1
    assert "cannot be reached" in schemas.known(lake.schemas).faults["confluent:1"]


def test_an_answer_that_does_not_come_is_asked_for_again(land, registry):
    registry.failing = 503
    land(framed(1), more="retries = 2\n")
    assert registry.asked == ["/schemas/ids/1"] * 3


def test_what_was_stored_once_needs_no_registry(land, lake, registry):
    land(framed(1))
    registry.schemas.clear()
    registry.failing = 503
    land(framed(1))
    assert "confluent:1" in schemas.known(lake.schemas).known
    assert len(registry.asked) == 2


def test_the_next_address_is_asked_where_one_does_not_answer(land, lake, registry, connect, says):
    says()
    connect("http://127.0.0.1:1", registry.url)
    land(framed(1))
    assert "confluent:1" in schemas.known(lake.schemas).known


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"login": "ada", "password": SECRET}, "Basic YWRhOlRyMHViNGRvcg=="),
        ({"extra": {"token": SECRET}}, f"Bearer {SECRET}"),
    ],
)
def test_who_asks_is_told_to_the_registry_and_to_nobody_else(
    given, sent, says, land, lake, registry, connect, caplog
):
    says()
    connect(registry.url, **given)
    registry.failing = 401
    land(framed(1))
    assert registry.authorised == [sent]
    told = caplog.text + str(schemas.known(lake.schemas).faults)
    assert "401" in told
    assert SECRET not in told


def test_the_end_of_a_line_behind_a_token_is_not_sent(land, registry, connect, says):
    says()
    connect(registry.url, extra={"token": f"{SECRET}\n"})
    land(framed(1))
    assert set(registry.authorised) == {f"Bearer {SECRET}"}


@pytest.mark.parametrize("token", [f"{SECRET}\n{SECRET}", f"{SECRET}\xe9"])
def test_a_token_that_no_header_may_have_is_refused_without_repeating_it(
    token, land, lake, connect, says, registry
):
    says()
    connect(registry.url, extra={"token": token})
    assert land(framed(1)) == 1
    why = schemas.known(lake.schemas).unknown(["confluent:1"])
    assert "write it anew" in why
    assert SECRET not in why


def test_an_address_with_a_password_in_it_is_refused_without_repeating_it(
    land, lake, connect, says, caplog
):
    says()
    connect(f"http://ada:{SECRET}@127.0.0.1:1")
    assert land(framed(1)) == 1
    why = schemas.known(lake.schemas).unknown(["confluent:1"])
    assert "belongs into its login and password" in why
    assert SECRET not in why + caplog.text


def test_ids_of_another_kind_of_registry_are_refused_by_name(land, lake):
    land(b"\0" + (17).to_bytes(8) + b"body")
    why = schemas.known(lake.schemas).unknown(["apicurio-global:17"])
    assert "a [registry] of kind confluent has no such ids" in why


def test_a_missing_connection_holds_up_no_record_and_says_how_to_make_it(
    land, lake, says, monkeypatch
):
    says()
    monkeypatch.delenv("AIRFLOW_CONN_SHOP_REGISTRY")
    assert land(framed(1)) == 1
    why = schemas.known(lake.schemas).unknown(["confluent:1"])
    assert "airflow connections add shop_registry" in why


def test_a_certificate_that_is_none_is_named(land, lake, connect, says, tmp_path, registry):
    says()
    (tmp_path / "ca.pem").write_text("none")
    connect(registry.url, extra={"ca": str(tmp_path / "ca.pem")})
    assert land(framed(1)) == 1
    assert str(tmp_path / "ca.pem") in schemas.known(lake.schemas).unknown(["confluent:1"])


def test_a_registry_is_trusted_by_the_certificate_that_the_connection_names_and_shown_one(
    land, lake, says, connect, tmp_path
):
    says()
    server, client = (certificates.written(tmp_path, name) for name in ("server", "client"))
    with registry_server.opened(server, clients=client[0]) as registry:
        registry.schemas["1"] = TEXT
        own = {"certificate": client[0], "key": client[1]}
        for extra, reason in (({}, "CERTIFICATE_VERIFY_FAILED"), ({"ca": server[0]}, "")):
            connect(registry.url, extra=extra)
            land(framed(1))
            why = schemas.known(lake.schemas).unknown(["confluent:1"])
            assert "gives no answer" in why
            assert reason in why
        connect(registry.url, extra={"ca": server[0], **own})
        Lookup(says()).again()
    assert "confluent:1" in schemas.known(lake.schemas).known
