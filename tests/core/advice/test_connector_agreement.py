"""A connector's configuration beside the source file that reads what it writes."""

import json

import pytest
from samples.connector_settings import GOOD_POSTGRESQL, JSON, SMT, flat, routed, smt

from strandline import advice, cli
from strandline.advice import Configuration, Severity
from strandline.advice.configuration import Family
from strandline.sources import source

GOOD = {**GOOD_POSTGRESQL, "value.converter.schemas.enable": "false"}
HEX = {**GOOD, "binary.handling.mode": "hex", "decimal.handling.mode": "precise"}


def spec(more="", connector="postgresql", top=""):
    return f'connector = "{connector}"\n{top}\n[kafka]\ntopic_prefix = "inventory"\n{more}\n'


@pytest.fixture
def together(tmp_path):
    def read(settings, text, family=Family.POSTGRESQL):
        path = tmp_path / "inventory.toml"
        path.write_text(text)
        beside = source.load(path, {source.LAKE_VARIABLE: "."})
        return advice.findings(Configuration(None, family, settings), beside)

    return read


def lost(found):
    return [(f.setting, f.value) for f in found if f.severity is Severity.LOSES]


MODES = '[settings]\nbinary.handling.mode = "{}"\n'


def test_a_mode_that_the_source_file_says_otherwise_is_a_loss(together):
    assert lost(together(HEX, spec(MODES.format("bytes")))) == [("binary.handling.mode", "hex")]
    assert lost(together(GOOD_POSTGRESQL, spec(MODES.format("hex")))) == [
        ("binary.handling.mode", "default (bytes)")
    ]


def test_a_mode_that_no_record_shows_and_the_source_file_does_not_say_is_a_loss(together):
    (finding,) = [f for f in together(HEX, spec()) if f.severity is Severity.LOSES]
    assert finding.setting == "binary.handling.mode"
    assert 'binary.handling.mode = "hex"' in finding.remedy
    assert "--write" in finding.remedy


def test_modes_that_agree_or_show_in_records_are_no_findings(together):
    both = spec(MODES.format("hex") + 'decimal.handling.mode = "precise"\n')
    assert not lost(together(HEX, both))
    without = {f.rule for f in together(HEX, both) if f.rule.endswith("-without-schema")}
    assert without == {"values-without-schema"}
    with_schemas = {**HEX, "value.converter.schemas.enable": "true"}
    assert lost(together(with_schemas, spec())) == []


def test_bytes_and_base64_are_one_mode(together):
    base64 = {**GOOD, "binary.handling.mode": "base64"}
    assert not [each for each in lost(together(base64, spec(MODES.format("bytes"))))
                if each[0] == "binary.handling.mode"]  # fmt: skip


def test_yugabytedb_writes_hexadecimal_digits_whatever_it_is_set_to(together):
    settings = {"topic.prefix": "inventory", "binary.handling.mode": "bytes"}
    found = together(settings, spec(MODES.format("hex"), "yugabytedb"), Family.YUGABYTEDB)
    assert not [each for each in lost(found) if each[0] == "binary.handling.mode"]


@pytest.mark.parametrize(
    ("family", "connector", "good"),
    [
        (Family.POSTGRESQL, "postgresql", True),
        (Family.POSTGRESQL, "mysql", False),
        (Family.MYSQL, "mysql", True),
        (Family.MARIADB, "mysql", True),
        (Family.YUGABYTEDB_SLOT, "yugabytedb", True),
        (Family.YUGABYTEDB_SLOT, "postgresql", False),
        (Family.YUGABYTEDB, "bmdbdb", True),
        (Family.DB2, "db2", True),
        (Family.DB2, "sqlserver", False),
    ],
)
def test_a_source_file_of_another_connector_is_a_loss(family, connector, good, together):
    settings = {"connector.class": "x", "topic.prefix": "inventory"}
    found = lost(together(settings, spec(connector=connector), family))
    assert (("connector.class", "x") not in found) is good


def test_a_source_file_of_another_topic_prefix_is_a_loss(together):
    assert ("topic.prefix", "shop") in lost(together({**GOOD, "topic.prefix": "shop"}, spec()))


def test_placeholders_have_to_be_the_same(together):
    own = {**GOOD, "unavailable.value.placeholder": "gone"}
    said = spec(top='placeholder = "gone"')
    assert ("unavailable.value.placeholder", "gone") in lost(together(own, spec()))
    assert "unavailable.value.placeholder" not in [f.setting for f in together(own, said)]
    (found,) = [f for f in together(GOOD, said) if f.setting == "unavailable.value.placeholder"]
    assert found.severity is Severity.LOSES


@pytest.mark.parametrize(
    ("settings", "said", "wrong"),
    [
        (flat(), "flattened = false", True),
        (flat(), "flattened = true", False),
        ({}, "flattened = true", True),
        ({}, "flattened = false", False),
        (smt(f"{SMT}ExtractNewRecordState", predicate="some"), "flattened = false", False),
    ],
)
def test_flattening_has_to_be_the_same(settings, said, wrong, together):
    found = together({**GOOD, **settings}, spec(top=said))
    assert any(said in f.effect for f in found if f.severity is Severity.LOSES) is wrong


@pytest.mark.parametrize(
    ("setting", "value", "topic"),
    [
        ("topic.heartbeat.prefix", "beat", "beat.inventory"),
        ("topic.transaction", "tx", "inventory.tx"),
        ("transaction.topic", "${database.server.name}.tx", "inventory.tx"),
        ("notification.sink.topic.name", "notes", "notes"),
    ],
)
def test_control_topics_that_the_source_file_names_are_no_findings(setting, value, topic, together):
    settings = {**GOOD, setting: value}
    assert setting in [f.setting for f in together(settings, spec())]
    named = spec(f'control_topics = ["{topic}"]')
    assert setting not in [f.setting for f in together(settings, named)]


def test_yugabytedb_s_cells_are_no_finding_where_the_source_file_names_it(together):
    settings, said = {"topic.prefix": "inventory"}, spec(connector="yugabytedb")
    found = together(settings, said, Family.YUGABYTEDB_SLOT)
    assert "plugin.name" not in [f.setting for f in found]


def test_tables_that_the_source_file_says_are_one_are_no_finding(together):
    settings = {**GOOD, "table.include.list": "a.orders,b.orders", **routed("$2")}
    one = '[[table]]\ntopic = "orders"\nname = "orders"\none_table = true\n'
    assert [s for s, _ in lost(together(settings, spec(one)))] == ["decimal.handling.mode"]
    assert "table.include.list" in [s for s, _ in lost(together(settings, spec()))]


def test_a_table_whose_topic_the_source_file_does_not_land_is_a_loss(together):
    settings = {**GOOD, "table.include.list": "a.orders,a.items", **routed("$2")}
    only = spec('[[table]]\ntopic = "orders"\nname = "orders"\n')
    assert [each for each in lost(together(settings, only)) if each[0] == "table.include.list"] == [
        ("table.include.list", "a.items")
    ]
    plain = {**GOOD, "table.include.list": "a.orders,a.items"}
    assert "table.include.list" not in [name for name, _ in lost(together(plain, only))]
    own = {**settings, "transforms": "x, y", "transforms.y.type": "com.example.Router"}
    assert "table.include.list" not in [name for name, _ in lost(together(own, only))]


def test_generated_columns_that_the_source_file_names_are_no_finding(together):
    assert "generated columns" in [f.setting for f in together(GOOD, spec())]
    named = spec('[[table]]\ntopic = "inventory.a"\nnever_streamed = ["total"]\n')
    assert "generated columns" not in [f.setting for f in together(GOOD, named)]


# ------------------------------------------------------------------------------- the command line


@pytest.fixture
def files(tmp_path):
    connector, beside = tmp_path / "c.json", tmp_path / "inventory.toml"
    connector.write_text(json.dumps({**HEX, "value.converter": JSON}))
    beside.write_text(f"# ours\n{spec()}")
    return str(connector), beside


def test_check_holds_a_connector_against_its_source_file(files, capsys):
    connector, beside = files
    assert cli.main(["check", connector, "--source", str(beside)]) == 2
    printed = capsys.readouterr().out
    assert f"{connector}: loses: binary.handling.mode = hex: the source file does not" in printed
    assert beside.read_text().startswith("# ours\nconnector")


def test_check_takes_over_how_a_connector_writes_values_where_it_is_asked_to(files, capsys):
    connector, beside = files
    assert cli.main(["check", connector, "--source", str(beside), "--write"]) == 0
    assert f'{beside}: added to [settings]: binary.handling.mode = "hex"' in capsys.readouterr().out
    assert beside.read_text() == (
        f"# ours\n{spec()}\n[settings]\n"
        'binary.handling.mode = "hex"\n'
        'decimal.handling.mode = "precise"\n'
        'time.precision.mode = "adaptive"\n'
    )
    assert cli.main(["check", connector, "--source", str(beside), "--write"]) == 0
    assert "added" not in capsys.readouterr().out


def test_check_writes_nothing_where_records_have_their_schemas(files, tmp_path):
    _, beside = files
    before = beside.read_text()
    path = tmp_path / "with.json"
    path.write_text(json.dumps({**HEX, "value.converter.schemas.enable": "true"}))
    assert cli.main(["check", str(path), "--source", str(beside), "--write"]) == 0
    assert beside.read_text() == before


def test_check_writes_nothing_where_the_source_file_says_otherwise(files, capsys):
    connector, beside = files
    text = beside.read_text() + MODES.format("bytes")
    beside.write_text(text)
    assert cli.main(["check", connector, "--source", str(beside), "--write"]) == 2
    assert "change it by hand" in capsys.readouterr().err
    assert beside.read_text() == text


def test_check_writes_only_to_a_source_file_that_is_named(files, capsys):
    connector, _ = files
    assert cli.main(["check", connector, "--write"]) == 2
    assert "--source" in capsys.readouterr().err


def test_check_needs_a_connector_to_hold_a_source_file_against(files, capsys):
    _, beside = files
    assert cli.main(["check", str(beside), "--source", str(beside)]) == 2
    assert "needs a connector's JSON" in capsys.readouterr().err
