"""Connector configurations: reading, secrets, the page, the command line."""

import json
import re
from pathlib import Path

import pytest
from samples.connector_settings import GOOD_POSTGRESQL, JSON, KAFKA

from strandline import advice, cli
from strandline.advice import RULES, Severity, page
from strandline.advice.configuration import CLASSES
from strandline.errors import SpecError

PAGE = Path(__file__).parents[3] / "docs/connector-settings.md"
EXAMPLES_OF_USE = Path(__file__).parents[3] / "examples"


# ------------------------------------------------------------------------------- reading


@pytest.fixture
def file(tmp_path):
    def write(document, name="connector.json"):
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return write


def test_settings_alone_and_the_form_of_the_rest_api_are_the_same(file):
    alone = advice.read(file(GOOD_POSTGRESQL))
    wrapped = advice.read(file({"name": "inventory", "config": GOOD_POSTGRESQL, "tasks": []}))
    assert alone.settings == wrapped.settings == GOOD_POSTGRESQL
    assert (alone.name, wrapped.name) == (None, "inventory")
    assert advice.read(file({"name": "own", **GOOD_POSTGRESQL})).name == "own"


@pytest.mark.parametrize(("name", "family"), CLASSES.items())
def test_a_class_is_known_by_its_full_and_its_short_names(name, family, file):
    simple = name.rpartition(".")[2]
    short = () if simple == "YugabyteDBConnector" else (simple, simple.removesuffix("Connector"))
    for spelling in (name, *short, f" {name} "):
        assert advice.read(file({"connector.class": spelling})).family is family


@pytest.mark.parametrize("name", ["YugabyteDBConnector", "YugabyteDB"])
def test_a_short_name_that_two_connectors_have_is_refused(name, file):
    with pytest.raises(SpecError) as raised:
        advice.read(file({"connector.class": name}))
    assert all(
        known in str(raised.value) for known in CLASSES if known.endswith("YugabyteDBConnector")
    )


def test_yugabytedb_s_connector_for_replication_slots_is_judged_by_rules_of_its_own(file):
    settings = {
        **GOOD_POSTGRESQL,
        "connector.class": "io.debezium.connector.postgresql.YugabyteDBConnector",
        "plugin.name": "yboutput",
    }
    del settings["event.converting.failure.handling.mode"]  # it has none
    found = advice.findings(advice.read(file(settings)))
    assert [(f.setting, f.severity) for f in found] == [
        ("TRUNCATE", Severity.NOTE),
        ("slot.lsn.type", Severity.NOTE),
        ("plugin.name", Severity.NOTE),
    ]


def test_numbers_and_truth_values_are_the_text_that_connect_makes_of_them(file):
    path = file('{"connector.class": "MySql", "a": 1, "b": 1.50, "c": true, "d": null}')
    settings = advice.read(path).settings
    assert settings == {"connector.class": "MySql", "a": "1", "b": "1.50", "c": "true"}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("", "not valid JSON"),
        ('{"connector.class": ', ":1: not valid JSON"),
        ("[1]", "is a JSON object"),
        ("{}", "no 'connector.class'"),
        ('{"name": "x", "config": {"topics": "a"}}', "POST /connectors"),
        ('{"config": "text"}', "no 'connector.class'"),
        (
            '{"connector.class": "io.debezium.connector.informix.InformixConnector"}',
            "InformixConnector",
        ),
        ('{"connector.class": null}', "unknown connector class ''"),
        ('{"connector.class": "MySql", "a": {"b": "c"}}', "'a' must be text, not an object"),
        ('{"connector.class": "MySql", "a": ["b"]}', "'a' must be text, not a list"),
        ('{"connector.class": "MySql", "a": "b", "a": "c"}', "'a' stands there twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_configuration_is_one_line_that_names_the_file_and_what_is_wrong(
    document, told, file
):
    path = file(document)
    with pytest.raises(SpecError) as raised:
        advice.read(path)
    assert str(raised.value).startswith(str(path))
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_unknown_class_lists_the_known_ones(file):
    with pytest.raises(SpecError) as raised:
        advice.read(file({"connector.class": "com.example.Jdbc"}))
    assert all(name in str(raised.value) for name in CLASSES)


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path):
    with pytest.raises(SpecError, match=r"none\.json: cannot be read"):
        advice.read(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(SpecError, match=r"bytes\.json: not UTF-8"):
        advice.read(tmp_path / "bytes.json")


# ------------------------------------------------------------------------------- secrets

SECRET = "hunter2-hunter2"  # noqa: S105 - it is to be hidden, and none
WITH_SECRETS = {
    "connector.class": "io.debezium.connector.oracle.OracleConnector",
    "database.password": SECRET,
    "database.url": f"jdbc:oracle:thin:scott/{SECRET}@db",
    "schema.history.internal.consumer.sasl.jaas.config": f'required password="{SECRET}";',
    "schema.history.internal.producer.ssl.keystore.key": SECRET,
    "value.converter": JSON,
    "value.converter.basic.auth.user.info": f"user:{SECRET}",
    f"column.mask.hash.SHA-256.with.salt.{SECRET}": "a.b.c",
    "transforms": "password",
    "transforms.password.type": f"{KAFKA}RegexRouter",
    "transforms.password.regex": SECRET,
    "header.converter": f"http://user:{SECRET}@example.org/Converter",
}


def test_secrets_are_never_printed(file, capsys):
    assert cli.main(["check", str(file(WITH_SECRETS))]) == 2
    printed = capsys.readouterr()
    assert "column.mask.hash.SHA-256.with.salt.(hidden)" in printed.out
    assert "http://(hidden)@example.org/Converter" in printed.out
    assert SECRET not in printed.out + printed.err


@pytest.mark.parametrize(
    "document",
    [
        '{"connector.class": "MySql", "database.password": "hunter2-hunter2" x}',
        '{"connector.class": "MySql", "database.password": ["hunter2-hunter2"]}',
        '{"connector.class": "MySql", "p": "hunter2-hunter2", "p": "hunter2-hunter2"}',
        '{"connector.class": "MySql", "column.mask.hash.x.with.salt.hunter2-hunter2": {}}',
    ],
)
def test_errors_quote_no_value_and_no_salt(document, file, capsys):
    assert cli.main(["check", str(file(document))]) == 2
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err
    assert printed.err.count("\n") == 1


def test_a_long_value_is_cut_to_a_line(file, capsys):
    tables = ",\n".join(f"public.table_{number}" for number in range(500))
    assert cli.main(["check", str(file({**GOOD_POSTGRESQL, "table.include.list": tables}))]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert "table.include.list = public.table_0, public.table_1," in first
    assert len(first.partition(" = ")[2].partition("…")[0]) < 100


# ------------------------------------------------------------------------------- the page


def test_the_page_of_rules_is_the_one_that_the_rules_write():
    assert PAGE.read_text(encoding="utf-8") == page.page(), (
        "run: python -m strandline.advice.page > docs/connector-settings.md"
    )


def test_the_page_has_a_row_for_each_rule():
    starts = tuple(f"| {severity} |" for severity in Severity)
    rows = [line for line in page.page().splitlines() if line.startswith(starts)]
    assert len(rows) == len(RULES)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)


# ------------------------------------------------------------------------------- the command line


def test_check_ends_with_two_where_a_setting_loses_history_and_says_what_to_set(file, capsys):
    path = file({"name": "inventory", "config": {**GOOD_POSTGRESQL, "skipped.operations": "t"}})
    assert cli.main(["check", str(path)]) == 2
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == (
        f"{path}: loses: skipped.operations = t: TRUNCATE is not sent: the rows that it removed "
        "stay current for ever; set skipped.operations=none"
    )
    assert last == (
        f"{path}: not ok: postgresql connector 'inventory': loses 1, blurs 0, not judged 0, note 1"
    )


def test_check_succeeds_where_only_notes_are_found_or_history_is_only_blurred(file, capsys):
    assert cli.main(["check", str(file(GOOD_POSTGRESQL))]) == 0
    assert capsys.readouterr().out.endswith(
        ": ok: postgresql connector: loses 0, blurs 0, not judged 0, note 1\n"
    )
    blurred = {**GOOD_POSTGRESQL, "decimal.handling.mode": "double", "snapshot.mode": "always"}
    assert cli.main(["check", str(file(blurred))]) == 0
    assert "blurs 1, not judged 0, note 2" in capsys.readouterr().out


def test_check_tells_configurations_from_source_files_by_name_and_first_sign(file, capsys):
    source = file('connector = "mysql"\n[kafka]\ntopic_prefix = "p"\n', "good.toml")
    named = file(GOOD_POSTGRESQL, "named.JSON")
    bare = file("\ufeff\n " + json.dumps(GOOD_POSTGRESQL), "bare")
    assert cli.main(["check", str(source), str(named), str(bare)]) == 0
    printed = [line for line in capsys.readouterr().out.splitlines() if ": note: " not in line]
    assert [line.partition(": ok: ")[2].split()[0] for line in printed] == [
        "source",
        "postgresql",
        "postgresql",
    ]
    braces = file("{}", "braces.toml")
    assert cli.main(["check", str(braces)]) == 2
    assert "not valid TOML" in capsys.readouterr().err


def test_check_goes_on_after_a_file_that_is_wrong(file, tmp_path, capsys):
    good = file(GOOD_POSTGRESQL)
    assert cli.main(["check", str(tmp_path / "none.json"), str(tmp_path / "none"), str(good)]) == 2
    printed = capsys.readouterr()
    assert "none.json: cannot be read" in printed.err
    assert "none: cannot be read" in printed.err
    assert f"{good}: ok" in printed.out


@pytest.mark.parametrize("example", ["postgres-inventory", "mariadb-inventory"])
def test_the_recorded_connectors_lose_nothing_but_nulls_of_columns_with_a_default(example, file):
    text = (EXAMPLES_OF_USE / example / "README.md").read_text(encoding="utf-8")
    recorded = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    findings = advice.findings(advice.read(file(recorded[1])))
    assert [f.setting for f in findings if f.severity is Severity.LOSES] == [
        "value.converter.replace.null.with.default"
    ]
