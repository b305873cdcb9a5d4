"""Tables that share a topic, as far as a connector's configuration shows it."""

import pytest
from samples.connector_settings import BY_ID, KAFKA, SMT, STRATEGIES, routed, smt

from strandline.advice import Configuration
from strandline.advice.configuration import Family


def shared(rule, tables, settings=(), family=Family.POSTGRESQL, name="table.include.list"):
    given = {"topic.prefix": "p", name: tables, **dict(settings)}
    return [f.value for f in BY_ID[rule].findings(Configuration(None, family, given))]


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ("shop.订单,shop.客户", "shop.订单, shop.客户 (topic p.shop.__)"),
        ("dbo.Order Details, dbo.Order_Details", "dbo.Order Details, dbo.Order_Details"),
        ("public.Größe,public.Gr#ße,public.a", "public.Größe, public.Gr#ße (topic p.public.Gr__e)"),
        (r"public\.a\$b,public\.a\#b", "public.a$b, public.a#b (topic p.public.a_b)"),
        ("a b.t,a_b.t", "a b.t, a_b.t (topic p.a_b.t)"),
        ("s.\U0001f600,s.__", "(topic p.s.__)"),
    ],
)
def test_names_that_differ_in_what_kafka_does_not_take_share_a_topic(tables, told):
    (value,) = shared("tables-named-alike", tables)
    assert told in value


@pytest.mark.parametrize(
    "tables",
    [
        "shop.订单,shop.订单们",
        "shop.a,shop.a",
        "shop.Orders,shop.orders",
        "shop.a-b,shop.a_b",
        r"shop\.(a b|a_b),shop\.a_b",
        r"shop\.a.*,shop.a_b",
        "",
    ],
)
def test_names_that_stay_apart_and_patterns_share_none(tables):
    assert shared("tables-named-alike", tables) == []


def test_the_older_name_of_the_list_is_known_too():
    assert shared("tables-named-alike", "s.a b,s.a_b", name="table.whitelist")


@pytest.mark.parametrize("kind", ["Default", "Schema"])
def test_a_naming_strategy_that_spells_characters_out_keeps_tables_apart(kind):
    naming = {"topic.naming.strategy": f"{STRATEGIES}{kind}UnicodeTopicNamingStrategy"}
    assert shared("tables-named-alike", "shop.订单,shop.客户", naming) == []


def test_of_a_naming_strategy_that_nobody_knows_no_topic_is_known():
    naming = {"topic.naming.strategy": "com.example.Naming"}
    assert shared("tables-named-alike", "shop.订单,shop.客户", naming) == []


def test_databases_of_sql_server_are_part_of_the_topic():
    given = {"database.names": "a b, a_b"}
    assert shared("tables-named-alike", "dbo.t", given, Family.SQLSERVER) == [
        "a b.dbo.t, a_b.dbo.t (topic p.a_b.dbo.t)"
    ]
    assert shared("tables-named-alike", "dbo.t", {"database.names": "a,b"}, Family.SQLSERVER) == []


def test_a_delimiter_that_names_may_hold_brings_tables_together():
    assert shared("tables-named-alike", "a_b.c,a.b_c", {"topic.delimiter": "_"})
    assert not shared("tables-named-alike", "a_b.c,a.b_c")


def test_a_router_that_leaves_the_schema_out_brings_tables_of_one_name_together():
    tables = "shop.orders,store.orders,shop.items"
    assert shared("tables-routed-together", tables, routed("$2")) == [
        "shop.orders, store.orders (topic orders)"
    ]
    assert shared("tables-routed-together", tables, routed("${1}.$2")) == []


def test_tables_that_share_a_topic_by_name_are_not_told_a_second_time():
    assert shared("tables-routed-together", "a b.t,a_b.t", routed("$2")) == []


SHARDS = {"topic.regex": "p[.]shop[.]orders_.", "topic.replacement": "p.shop.orders"}
UNIQUE = {"key.enforce.uniqueness": "false"}


def logical(**options):
    named = {f"transforms.x.{name}": value for name, value in {**SHARDS, **options}.items()}
    return {**smt(f"{SMT}ByLogicalTableRouter"), **named}


def test_a_router_that_adds_the_table_to_the_key_keeps_its_tables_apart():
    tables = "shop.orders_1,shop.orders_2"
    assert shared("tables-routed-together", tables, logical()) == []
    assert shared("tables-routed-together", tables, logical(**UNIQUE)) == [
        "shop.orders_1, shop.orders_2 (topic p.shop.orders)"
    ]


def test_a_naming_strategy_by_pattern_merges_like_a_router():
    naming = {"topic.naming.strategy": f"{STRATEGIES}SchemaRegexTopicNamingStrategy", **SHARDS}
    tables = "shop.orders_1,shop.orders_2"
    assert shared("tables-routed-together", tables, naming) == []
    assert shared(
        "tables-routed-together", tables, {**naming, "topic.key.enforce.uniqueness": "false"}
    )


def test_a_router_for_some_topics_moves_only_these():
    predicate = {
        "transforms.x.predicate": "some",
        "predicates": "some",
        "predicates.some.type": f"{KAFKA}predicates.TopicNameMatches",
        "predicates.some.pattern": "p[.]shop[.].*",
    }
    only = {**routed("$2"), **predicate}
    assert shared("tables-routed-together", "shop.a,store.a", only) == []
    assert shared("tables-routed-together", "shop.a,a", {**only, "topic.prefix": "p"}) == []
    negated = {**only, "transforms.x.negate": "true", "predicates.some.pattern": "p[.]else[.].*"}
    assert shared("tables-routed-together", "shop.a,store.a", negated)


@pytest.mark.parametrize("regex", ["(", "(?<n>a)(?<n>b)"])
def test_a_pattern_that_cannot_be_read_tells_nothing(regex):
    settings = smt("RegexRouter", regex=regex, replacement="$9")
    assert shared("tables-routed-together", "s.a,s.b", settings) == []


@pytest.mark.parametrize(
    ("family", "kind", "rule"),
    [
        (Family.POSTGRESQL, "Default", "schemas-merged"),
        (Family.SQLSERVER, "DefaultUnicode", "schemas-merged"),
        (Family.MYSQL, "Schema", "databases-merged"),
        (Family.MARIADB, "SchemaUnicode", "databases-merged"),
    ],
)
def test_a_naming_strategy_that_leaves_a_part_of_the_name_out_is_told(family, kind, rule):
    naming = {"topic.naming.strategy": f"{STRATEGIES}{kind}TopicNamingStrategy"}
    found = list(BY_ID[rule].findings(Configuration(None, family, naming)))
    assert [f.setting for f in found] == ["topic.naming.strategy"]
