"""Source files: what is refused, and that the error says file, table, key and what was allowed."""

from datetime import timedelta

import pytest

from strandline.errors import SpecError
from strandline.sources.approval import Approval
from strandline.sources.expectations import Expectations
from strandline.sources.registry import Registry
from strandline.sources.source import LAKE_VARIABLE, load
from strandline.sources.table import Tolerance

GOOD = """
connector = "postgresql"
[kafka]
topic_prefix = "shop"
[[table]]
topic = "shop.public.orders"
name = "orders"
"""
REGISTRY = '[registry]\nconnection = "shop_registry"\n'


def source(tmp_path, text=GOOD, lake="/lake"):
    path = tmp_path / "shop.toml"
    path.write_text(text)
    return load(path, {LAKE_VARIABLE: lake} if lake else {})


def test_a_source_knows_its_topics_and_tables(tmp_path):
    found = source(tmp_path)
    assert found.table_name("shop.public.orders") == "orders"
    assert found.table_name("shop.public.items") == "public.items"
    assert found.owns("shop.transaction")
    assert found.is_control("__debezium-heartbeat.shop")
    assert not found.owns("shopping.public.items")


def test_what_is_said_of_a_table_does_not_rename_it(tmp_path):
    """Under another name its history would begin anew, in the middle."""
    topic = "shop.public.items"
    said = source(tmp_path, f'{GOOD}[[table]]\ntopic = "{topic}"\nfreshness = "10m"\n')
    assert said.table_name(topic) == source(tmp_path).table_name(topic) == "public.items"


@pytest.mark.parametrize("name", ["binary.handling.mode", '"binary.handling.mode"'])
def test_a_setting_of_the_connector_is_written_with_and_without_quotes(tmp_path, name):
    found = source(tmp_path, f'{GOOD}[settings]\n{name} = "hex"\n')
    settings = (("binary.handling.mode", "hex"),)
    assert found.rules("shop.public.orders").settings == settings
    assert found.rules("shop.public.other").settings == settings
    assert found.rules("shop").settings == settings


def epochs(*told):
    """Sections of (number, day of a month)."""
    section = "[[epoch]]\nnumber = {}\nsince = 2026-09-{}T00:00:00Z\n"
    return "".join(section.format(number, day) for number, day in told)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (GOOD.replace("topic_prefix", "topicprefix"), ["shop.toml", "[kafka]", "'topic_prefix'"]),
        (GOOD + 'colour = "red"\n', ["[[table]] shop.public.orders", "'colour'", "name, "]),
        ("wrong = 1\n" + GOOD, ["top level", "'wrong'", "connector"]),
        (
            GOOD + "[[epoch]]\nnumber = 20260921\nsince = 2026-09-21T00:00:00Z\n",
            ["[[epoch]]", "'number' must be 65535 or less"],
        ),
        (GOOD.replace("postgresql", "access"), ["'access'", "bmdbdb, db2, mariadb, mysql, oracle"]),
        (GOOD.replace('"shop"', '" "'), ["[kafka]", "'topic_prefix'", "is empty", "topic.prefix"]),
        (GOOD.replace('"shop"', "5"), ["'topic_prefix'", "a string", "5"]),
        (GOOD.replace('"shop"', '" shop"'), ["'topic_prefix'", "letters, digits", "' shop'"]),
        (GOOD.replace('"shop.public.orders"', '""'), ["'topic' is the name of a topic", "''"]),
        (GOOD + "[epoch]\nnumber = 1\n", ["write each epoch as a [[epoch]] section"]),
        (GOOD + "[[epoch]]\nsince = 2026-09-21T00:00:00Z\n", ["[[epoch]] 1: 'number' is missing"]),
        (GOOD + "[[epoch]]\nnumber = 1\nsince = 2026-09-21\n", ["'since'", "0:00Z, not a date"]),
        (GOOD + epochs((1, 21), (1, 22)), ["[[epoch]]: later epochs need higher", "1 and 1"]),
        (GOOD + epochs((1, 22), (1, 21)), ["[[epoch]]: later epochs need higher", "1 and 1"]),
        (GOOD + epochs((2, 21), (1, 21)), ["each a time of its own", "2 and 1"]),
        (GOOD + epochs((2, 21), (1, 22)), ["later epochs need higher numbers", "2 and 1"]),
        ('placeholder = " "\n' + GOOD, ["'placeholder' is empty", "unavailable.value.placeholder"]),
        (GOOD + "[landing]\nsegment_bytes = " + "9" * 5000, ["not valid TOML", "digits"]),
        (GOOD + 'freshness = "' + "9" * 5000 + 'd"\n', ["'freshness' must be a duration such as"]),
        (GOOD + 'columns.at = "io.debezium.time.TimeStamp"\n', ["'columns.at'", "unknown type"]),
        (GOOD + 'columns.n = "decimal(0,0)"\n', ["'columns.n'", "1 digit or more"]),
        (
            GOOD + 'never_streamed = ["total"]\ntrack = ["total"]\n',
            ["[[table]] shop.public.orders", "'total' is in 'never_streamed' and in 'track'"],
        ),
        (
            GOOD + 'never_streamed = ["total"]\nkey = ["total"]\n',
            ["'total' is in 'never_streamed' and in 'key'", "identifies no row"],
        ),
        (
            GOOD + 'never_streamed = ["totl"]\ncolumns.total = "int32"\n',
            ["'never_streamed' names the column 'totl', which 'columns' lacks", "total"],
        ),
        (GOOD + 'rename._key = "_op"\n', ["'rename._key'", "'_op' is called like one of a hist"]),
        (GOOD + 'rename.a = ""\n', ["'rename.a'", "no name"]),
        (GOOD + 'rename = { a = "x", b = "X" }\n', ["'rename.b'", "differ in capitals only"]),
        (GOOD + 'rename = { a = "x", b = "x" }\n', ["'rename.b'", "two columns are called 'x'"]),
        (
            GOOD + 'rename.a = "b"\ncolumns = { a = "int32", b = "int32" }\n',
            ["'rename.a': 'columns' has a column 'b' already"],
        ),
        (
            GOOD + 'rename.c = "b"\ncolumns = { a = "int32" }\n',
            ["'rename' names the column 'c', which 'columns' lacks; there are a"],
        ),
        (GOOD + "[landing]\nmax_segments = 0\n", ["[landing]", "'max_segments'", "1 or more"]),
        (GOOD + "[landing]\nmax_segments = true\n", ["'max_segments'", "a whole number"]),
        (GOOD.replace('name = "orders"', 'name = "../x"'), ["'name'", "'../x'"]),
        (GOOD + '[[table]]\ntopic = "shop.public.orders"\n', ["two [[table]]", "topic"]),
        ("connector = ", ["not valid TOML"]),
        ('freshness = "soon"\n' + GOOD, ["top level", "'freshness'", "45m", "'soon'"]),
        (GOOD + 'freshness = "0s"\n', ["[[table]] shop.public.orders", "'freshness'", "1s to"]),
        (GOOD + "quarantine = -1\n", ["[[table]]", "'quarantine' must be 0 or more, not -1"]),
        (GOOD + "[[notifier]]\n", ["[[notifier]] 1", "'class' is missing"]),
        (GOOD + '[[notifier]]\nclass = "mail"\n', ["[[notifier]] mail", "must be the import path"]),
        (GOOD + '[[notifier]]\nclass = "a.B"\nto = "x"\n', ["'to'", "arguments, class"]),
        ('engine = "alon"\n' + GOOD, ["'engine' must be spark or alone, not 'alon'"]),
        (
            'key_framing = "confluence"\n' + GOOD,
            ["top level: 'key_framing' must be one of auto, none, confluent", "not 'confluence'"],
        ),
        (GOOD + "[registry]\n", ["[registry]", "'connection' is missing"]),
        (
            GOOD + REGISTRY + 'kind = "glue"\ntimeout = "1h"\nretries = 21\n',
            [
                "'kind' must be confluent or apicurio, not 'glue': schemas of AWS Glue are read",
                "'timeout' must be 5m at most, not '1h'",
                "'retries' must be 0 to 20, not 21",
            ],
        ),
        (GOOD + '[registry]\nconnection = " "\n', ["'connection' is empty"]),
        (GOOD + REGISTRY + 'url = "http://x"\n', ["'url'", "connection, hold, kind, retries"]),
        (GOOD + '[spark]\nway = "fast"\n', ["[spark]: 'way'", "auto, alone, spread, not 'fast'"]),
        (
            'engine = "alone"\n' + GOOD + '[spark]\nway = "spread"\n',
            ["[spark]: 'way' is spread, which takes Spark"],
        ),
        (GOOD + '[spark]\noperator = "livy"\n', ["[spark]: 'operator'", "the import path of an A"]),
        (GOOD + "[spark]\narguments = {}\n", ["[spark]: 'arguments'", "name it in 'operator'"]),
        (
            GOOD + '[spark]\noperator = "a.B"\nconf = {}\n',
            ["[spark]: 'conf' is for spark-submit", "in 'arguments', as B has it"],
        ),
        (
            'engine = "alone"\n' + GOOD + '[spark]\noperator = "a.B"\n',
            ["[spark]: 'operator' takes Spark"],
        ),
        (
            GOOD + '[settings]\nbinary.handling.mode = "hexa"\n',
            ["[settings]: 'binary.handling.mode' must be one of bytes, base64,", "'hexa'"],
        ),
        (
            GOOD + '[settings]\n"binary.handling.modes" = "hex"\n',
            ["unknown key 'binary.handling.modes'", "binary.handling.mode,", "allowed are"],
        ),
        (GOOD + "[settings]\ntime.precision.mode = 1\n", ["'time.precision.mode' must be a str"]),
        (GOOD + "[settings]\ntime = {}\n", ["[settings]: unknown key 'time'"]),
        (GOOD + '[retention]\nlanding = "12h"\n', ["[retention]", "'landing' must be 1d or"]),
        (GOOD + '[retention]\nhistroy = "9d"\n', ["[retention]", "'histroy'", "changes, history"]),
        (GOOD + '[approval]\nwithin = "soon"\n', ["[approval]: 'within' must be a duration"]),
        (GOOD + "[approval]\nreplay = true\n", ["unknown key 'replay'", "by, erase, swap, within"]),
        (
            GOOD + "[expectations]\nmax_vanished = 20\n",
            ["[expectations]: 'max_vanished' must be a share from 0 to 1, such as 0.2, not 20"],
        ),
        (GOOD + "[expectations]\nmax_vanished = true\n", ["a share from 0", "not true or false"]),
        (GOOD + "[expectations]\nmax_vanished = nan\n", ["must be a share", "not nan"]),
        (GOOD + "[expectations]\nmin_rows = -1\n", ["'min_rows' must be 0 or more, not -1"]),
        (
            GOOD + "[expectations]\nmin_rows = 9\nmax_rows = 8\n",
            ["[expectations]: 'min_rows' is 9 and 'max_rows' 8"],
        ),
        (GOOD + "[expectations]\nmax_nulls.id = 0\n", ["unknown key 'max_nulls'", "max_vanished"]),
        (
            GOOD + "expectations.max_null.id = 0\n",
            ["[[table]] shop.public.orders: expectations: unknown key 'max_null'", "max_nulls"],
        ),
        (
            GOOD + "expectations.max_nulls.id = 2\n",
            ["[[table]] shop.public.orders: expectations: max_nulls: 'id' must be a share", "2"],
        ),
        (
            GOOD + 'columns.a = "int32"\nrename.a = "b"\nexpectations.max_nulls.a = 0\n',
            ["'expectations.max_nulls' names the column 'a', which 'columns' lacks; there are b"],
        ),
        (GOOD + '[retention]\nchanges = "9d"\n', ["[retention]: 'changes' needs a 'history'"]),
    ],
)  # fmt: skip
def test_a_wrong_source_file_is_refused_with_where_and_what_was_allowed(tmp_path, text, parts):
    with pytest.raises(SpecError) as refused:
        source(tmp_path, text)
    first, *others = str(refused.value).splitlines()
    assert not others or first.endswith(f": {len(others)} mistakes:")
    for part in ["shop.toml", *parts]:
        assert part in str(refused.value)


def test_every_mistake_of_every_section_is_told_at_once(tmp_path):
    wrong = """
connector = "access"
engine = "alon"
colour = "red"
[kafka]
topicprefix = "shop"
[schedule]
land = 5
[landing]
max_segments = 0
[retention]
versions = "soon"
landing = "1h"
[registry]
retries = 99
[[table]]
topic = "shop.public.orders"
key = [1, "id"]
track = ["a"]
ignore = ["a"]
freshness = "late"
[[table]]
topic = " "
name = "../x"
[[notifier]]
class = "mail"
"""
    with pytest.raises(SpecError) as refused:
        source(tmp_path, wrong, lake=None)
    head, *lines = str(refused.value).splitlines()
    assert head == f"{tmp_path / 'shop.toml'}: {len(lines)} mistakes:"
    for said in (
        "- top level: unknown connector 'access'; allowed are",
        "- top level: 'engine' must be spark or alone, not 'alon'",
        "- top level: unknown key 'colour'; allowed are",
        "- no lake: set 'lake'",
        "- [kafka]: 'topic_prefix' is missing (a string)",
        "- [kafka]: unknown key 'topicprefix'; allowed are",
        "- [schedule]: 'land' must be a string, not 5",
        "- [landing]: 'max_segments' must be 1 or more, not 0",
        "- [retention]: 'versions' must be a duration such as",
        "- [retention]: 'landing' must be 1d or longer",
        "- [registry]: 'connection' is missing (a string)",
        "- [registry]: 'retries' must be 0 to 20, not 99",
        "- [[table]] shop.public.orders: 'key' must hold strings only",
        "- [[table]] shop.public.orders: 'a' is in 'track' and in 'ignore'",
        "- [[table]] shop.public.orders: 'freshness' must be a duration such as",
        "- [[table]] 2: 'topic' is the name of a topic",
        "- [[table]] 2: 'name' becomes a folder",
        "- [[notifier]] mail: 'class' must be the import path",
    ):
        assert [line for line in lines if line.startswith(said)], said
    assert len(lines) == 18  # and nothing that follows from them


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + '[[notifier]]\nclass = "a.B"\narguments = "https://x/s3cret"\n', "not a string"),
        (GOOD + '[[notifier]]\nclass = "a.B"\narguments = ["s3cret"]\n', "not a list"),
        (GOOD + '[[notifier]]\nclass = "https://x/s3cret"\n', "[[notifier]] 1: 'class' must be"),
        (GOOD + '[spark.conf]\nspark.s3a.key = "s3cret"\n', "'conf.spark' must be a string, not"),
    ],
)
def test_what_may_be_a_secret_is_not_repeated(tmp_path, text, said):
    with pytest.raises(SpecError) as refused:
        source(tmp_path, text)
    assert said in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_source_without_a_lake_says_both_ways_to_name_one(tmp_path):
    with pytest.raises(SpecError, match=f"'lake'.*{LAKE_VARIABLE}"):
        source(tmp_path, lake=None)


@pytest.mark.parametrize("strange", ["%20", "%c3", "[", "]", "^", "|", "\\", "\t", "\x7f"])
def test_a_lake_whose_name_delta_rs_reads_as_another_is_refused(tmp_path, strange):
    with pytest.raises(SpecError, match=r"shop\.toml: the variable STRANDLINE_LAKE: ") as refused:
        source(tmp_path, lake=f"/a{strange}b")
    assert repr(strange) in str(refused.value)
    with pytest.raises(SpecError, match=r"shop\.toml: top level: 'lake': .*percent escapes"):
        source(tmp_path, "lake = 's3://bucket/a%20b'\n" + GOOD)


@pytest.mark.parametrize(
    "lake", ["/a b", "/100%", "/5% off", "/a#b?c", "/it's", "/ä{1}*", "/a=b+c:d"]
)
def test_any_other_name_of_a_lake_is_taken_as_it_is(tmp_path, lake):
    assert source(tmp_path, lake=lake).lake == lake


def test_only_a_table_says_that_the_tables_of_its_topic_are_one(tmp_path):
    found = source(tmp_path, GOOD + "one_table = true\n")
    assert found.rules("shop.public.orders").one_table
    assert not found.rules("shop.public.items").one_table
    with pytest.raises(SpecError, match="unknown key 'one_table'"):
        source(tmp_path, "one_table = true\n" + GOOD)


def test_what_is_borne_of_a_table_is_its_own_or_the_sources(tmp_path):
    found = source(tmp_path, 'freshness = "1h"\nquarantine = 5\n' + GOOD + 'freshness = "10m"\n')
    assert found.tolerance("shop.public.orders") == Tolerance(timedelta(minutes=10), 5)
    assert found.tolerance("shop.public.items") == Tolerance(timedelta(hours=1), 5)


def test_without_a_word_of_it_a_change_may_wait_two_hours_and_none_in_quarantine(tmp_path):
    assert source(tmp_path).tolerance("shop.public.items") == Tolerance(timedelta(hours=2), 0)


def test_what_is_expected_of_a_table_is_its_own_or_the_sources(tmp_path):
    of_all = "[expectations]\nmax_vanished = 0.2\nmax_quarantined = 0.05\nmin_rows = 1\n"
    own = "[table.expectations]\nmax_vanished = 1\nmax_rows = 9\nmax_nulls = { name = 0.1 }\n"
    found = source(tmp_path, GOOD + own + of_all)
    assert found.expectations("shop.public.items") == Expectations(0.2, 0.05, min_rows=1)
    assert found.expectations("shop.public.orders") == Expectations(1, 0.05, 1, 9, {"name": 0.1})


def test_without_a_word_of_it_nothing_is_expected_of_a_table(tmp_path):
    assert source(tmp_path).expectations("shop.public.orders") == Expectations()


def test_what_a_person_has_to_approve_is_said_with_who_may_and_within_what_time(tmp_path):
    text = GOOD + '[approval]\nerase = true\nwithin = "4h"\nby = ["ann"]\n'
    assert source(tmp_path, text).approval == Approval(True, False, timedelta(hours=4), ("ann",))
    assert source(tmp_path).approval == Approval(False, False, timedelta(days=1), ())


def test_a_source_names_its_notifiers(tmp_path):
    text = GOOD + '[[notifier]]\nclass = "a.b.Mail"\narguments = { to = "ops@example.com" }\n'
    (found,) = source(tmp_path, text).notifiers
    assert (found.path, dict(found.arguments)) == ("a.b.Mail", {"to": "ops@example.com"})


def test_a_source_file_calls_columns_as_the_source_does_and_rules_as_the_history_does(tmp_path):
    said = """
key = ["_key"]
track = ["_op", "note"]
ignore = ["_seen"]
never_streamed = ["total"]
columns = { _key = "int32", _op = "string", note = "string", _seen = "Date", total = "int32" }
rename = { _key = "no", _op = "state", _seen = "seen", total = "sum" }
"""
    rules = source(tmp_path, GOOD + said).rules("shop.public.orders")
    assert rules.key == ("no",)
    assert (rules.track, rules.ignore) == (("state", "note"), ("seen",))
    assert rules.never_streamed == ("sum",)
    assert [name for name, _ in rules.columns] == ["no", "state", "note", "seen", "sum"]
    assert rules.renamed_to["_key"] == "no"


def test_how_keys_and_values_name_their_schema_may_be_said(tmp_path):
    found = source(tmp_path, 'value_framing = "glue"\n' + GOOD).rules("shop.public.orders")
    assert (found.key_framing, found.value_framing) == ("auto", "glue")


def test_a_source_with_a_registry_waits_for_schemas_unless_it_says_otherwise(tmp_path):
    plain, waiting = source(tmp_path), source(tmp_path, GOOD + REGISTRY)
    quick = source(tmp_path, GOOD + REGISTRY + 'hold = false\ntimeout = "3s"\nretries = 0\n')
    assert plain.registry is None
    assert waiting.registry == Registry("shop_registry", "confluent", timedelta(seconds=10), 3)
    assert (quick.registry.timeout, quick.registry.retries) == (timedelta(seconds=3), 0)
    waits = [each.rules("shop.public.orders").hold_unknown for each in (plain, waiting, quick)]
    assert waits == [False, True, False]
