"""How a source's runs reach Spark, and which way their tables go there: `[spark]`."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from strandline.runs.way import Way
from strandline.sources.component import Component, component
from strandline.sources.section import Section

_LIVY = "airflow.providers.apache.livy.operators.livy.LivyOperator"


@dataclass(frozen=True, slots=True)
class Spark:
    """`operator` None: this project's own, which runs spark-submit by `connection` and `conf`."""

    connection: str
    conf: Mapping[str, str]
    way: Way
    operator: Component | None

    @staticmethod
    def of(section: Section, *, alone: bool) -> "Spark":
        """What a source file's section says; `alone`: the source does without Spark."""
        found = Spark(
            operator=_operator(section, alone=alone),
            connection=section.take("connection", str, "spark_default"),
            way=_way(section, alone=alone),
            conf=MappingProxyType(section.mapping("conf")),
        )
        section.finish()
        return found


def _way(section: Section, *, alone: bool) -> Way:
    asked = Way(section.choice("way", list(Way), Way.AUTO))
    if alone and asked is Way.SPREAD:
        section.refuse("way", 'is spread, which takes Spark: leave out engine = "alone"')
    return Way.ALONE if alone else asked


def _operator(section: Section, *, alone: bool) -> Component | None:
    if section.take("operator", str) is None:
        if section.take("arguments", dict) is not None:
            section.refuse("arguments", "are those of an operator: name it in 'operator'")
        return None
    found = component(section, "operator", f"an Airflow operator, such as {_LIVY}")
    if alone:
        section.refuse("operator", 'takes Spark: leave out engine = "alone"')
    for own in sorted({"connection", "conf"} & section.values.keys()):
        section.refuse(
            own,
            "is for spark-submit, which no other operator runs: say it in 'arguments', as "
            f"{found.path.rpartition('.')[2]} has it",
        )
    return found
