"""Rules: how values are written where records have no schema, which they then do not show.

Sources: docs/sources.md, "Types" and `[settings]`. A source file may repeat the modes; `agreement`
compares them, and `strandline/sources/amendment.py` takes them over.
"""

from collections.abc import Mapping
from types import MappingProxyType

from strandline.advice.conditions import Is, IsClass, IsNot, Where, met
from strandline.advice.configuration import Configuration, Family
from strandline.advice.finding import Severity
from strandline.advice.rule import BINLOG, DEBEZIUM_2, Rule
from strandline.cells.modes import BINARY, DECIMAL, MODES, TIME, UNSIGNED

JSON = "org.apache.kafka.connect.json.JsonConverter"
VALUES_ARE_JSON = IsClass("value.converter", (JSON,))
# Elsewhere `columns` names types that say it themselves.
_DDL = (Family.SQLSERVER, Family.DB2, Family.ORACLE)
_WITHOUT = (Is("value.converter.schemas.enable", ("false",)), VALUES_ARE_JSON)
_SHOWN = (
    "neither a record nor DDL shows it: values that are seen to be written in another mode than "
    "the default go to quarantine, and those that are not seen are other values in the history"
)
_REPEAT = (
    "repeat it in `[settings]` of the source file, which `--source FILE --write` does, or set "
    "value.converter.schemas.enable=true"
)


def modes(configuration: Configuration) -> Mapping[str, str]:
    """The modes that count for a connector, as they are set or by default."""
    family = configuration.family
    grpc = family is Family.YUGABYTEDB
    defaults = {
        BINARY: "hex" if grpc else "bytes",
        DECIMAL: "double" if grpc else "precise",
        TIME: "adaptive_time_microseconds" if family in BINLOG else "adaptive",
        **({UNSIGNED: "long"} if family in BINLOG else {}),
    }
    given = {name: (configuration.get(name) or of).lower() for name, of in defaults.items()}
    if grpc:
        given[BINARY] = "hex"  # whatever it is set to
    return MappingProxyType({name: of for name, of in given.items() if of in MODES[name]})


def lacks_schemas(configuration: Configuration) -> bool:
    """True unless the configuration says that records carry their schemas."""
    if configuration.get("value.converter") is None:
        return True  # the worker's converter may leave them out
    return all(met(condition, configuration) for condition in _WITHOUT)


def _mode(
    name: str,
    setting: str,
    values: tuple[str, ...],
    default: str | None,
    families: tuple[Family, ...],
) -> Rule:
    condition = Where(IsNot(setting, values, default), _WITHOUT)
    return Rule(name, Severity.BLURS, condition, _SHOWN, _REPEAT, families)


MODE: tuple[Rule, ...] = (
    Rule(
        "values-without-schema",
        Severity.BLURS,
        Where(Is("value.converter.schemas.enable", ("false",)), (VALUES_ARE_JSON,)),
        "a decimal, date or time cannot be told from the text or number that stands for it",
        "set value.converter.schemas.enable=true, or give each table a column contract in the "
        "source file",
    ),
    _mode("binary-without-schema", BINARY, ("bytes", "base64"), None, DEBEZIUM_2),
    _mode(
        "binary-without-schema-yugabytedb",
        BINARY,
        ("bytes", "base64"),
        "hex",
        (Family.YUGABYTEDB,),
    ),
    _mode("decimals-without-schema", DECIMAL, ("precise",), None, DEBEZIUM_2),
    _mode(
        "decimals-without-schema-yugabytedb",
        DECIMAL,
        ("precise",),
        "double",
        (Family.YUGABYTEDB,),
    ),
    _mode("times-without-schema", TIME, ("adaptive",), None, _DDL),
    _mode("times-without-schema-mysql", TIME, ("adaptive_time_microseconds",), None, BINLOG),
    _mode("unsigned-without-schema", UNSIGNED, ("long",), None, BINLOG),
)
MODE_OF: Mapping[str, str] = MappingProxyType(
    {rule.id: rule.condition.setting for rule in MODE if rule.condition.setting in MODES}
)
"""The mode that a rule is about."""
