"""Writes the demo's report: one HTML file that needs nothing else, with the timelines drawn."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from examples.tally import TableTally
from examples.truth import Agreement
from strandline.law import total
from strandline.timelines.picture import draw
from strandline.timelines.timeline import Opened, Timeline

_TEMPLATE = "report.html.j2"
_HERE = Path(__file__).parent
# How a timeline is drawn is shared with the page in Airflow.
_TEMPLATES = (_HERE, _HERE.parent / "plugins" / "strandline_airflow" / "page" / "templates")


@dataclass(frozen=True, slots=True)
class Story:
    """A timeline worth a heading, and what to look for in it."""

    title: str
    text: str
    timeline: Timeline


@dataclass(frozen=True, slots=True)
class Chapter:
    """One source: its numbers, whether it agrees with the truth, and its timelines.

    `seconds` is what its Spark runs took; the tables' own overlap, as they are done side by side.
    """

    source: str
    agreement: Agreement
    tables: tuple[TableTally, ...]
    seconds: float
    stories: tuple[Story, ...]
    timelines: tuple[Timeline, ...]


def render(chapters: Iterable[Chapter], facts: Iterable[str] = ()) -> str:
    """The report as HTML. Row values are escaped: the template engine does it to every value."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(_TEMPLATE).render(
        chapters=tuple(chapters), facts=tuple(facts), draw=draw, total=total, opened=tuple(Opened)
    )
