"""Gauges of how a source stands and of what its runs did, through Airflow's own metrics.

Where Airflow sends tags (OpenTelemetry, Datadog, StatsD as InfluxDB writes it) a gauge has one name
and is told apart by them. Plain StatsD has none: there they are the end of the name, as in the
names that Airflow gives its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from airflow.sdk import conf
from airflow.sdk.observability import stats

from strandline.runs.manifest import Manifest, Work
from strandline.runs.receipt import Receipt
from strandline.runs.standing import SourceStanding, TableStanding

_SECTION = "metrics"
# What a compaction counts of a table besides its totals, which the standing has.
_COUNTED = ("landed", "changes", "duplicates", "quarantined", "rows_written", "rows_closed")


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number, what it is of, and the tags that tell it from others of the name."""

    name: str
    value: float
    tags: Mapping[str, str]


def of_standing(of: SourceStanding, instant: datetime, alerts: int) -> Iterator[Gauge]:
    """How a source stands that was looked at; `alerts` are told of and not over."""
    counted = {
        "watched": 1,
        "alerts": alerts,
        "tables": len(of.tables),
        "held_tables": sum(each.held is not None for each in of.tables),
        "late_tables": sum(each.overdue(instant) for each in of.tables),
        "kafka_silent": int(of.silent is not None),
    }
    yield from _named("source", counted, source=of.source)
    for each in of.tables:
        yield from _named("table", _standing(each, instant), source=of.source, table=each.table)


def of_unwatched(source: str) -> Iterator[Gauge]:
    """That nobody could look at a source: what was told of it before is old."""
    return _named("source", {"watched": 0}, source=source)


def of_run(manifest: Manifest, receipt: Receipt, seconds: float) -> Iterator[Gauge]:
    """What a published run did in so many seconds, from its plan on."""
    failed = sum(each.error is not None for each in receipt.tables)
    counted = {"seconds": seconds, "tables": len(receipt.tables), "failed_tables": failed}
    yield from _named("run", counted, source=manifest.source, work=str(manifest.work))
    if manifest.work is Work.COMPACT:
        for each in receipt.tables:
            counts = asdict(each.counts)
            did = {"seconds": each.seconds, **{name: counts[name] for name in _COUNTED}}
            yield from _named("compaction", did, source=manifest.source, table=each.table)


def send(gauges: Iterable[Gauge]) -> None:
    """Sends them where Airflow's `[metrics]` say, if anywhere."""
    tagged = _tagged()
    if tagged is None:
        return
    for each in gauges:
        tags = {
            name: stats.normalize_name_for_stats(text, False) for name, text in each.tags.items()
        }
        if tagged:
            stats.gauge(each.name, each.value, tags=tags)
        else:
            ends = (text.replace(".", "__") for text in tags.values())
            stats.gauge(".".join((each.name, *ends)), each.value)


def _standing(of: TableStanding, instant: datetime) -> Mapping[str, float]:
    unlanded = {} if of.unlanded is None else {"unlanded": of.unlanded}
    return {
        "waiting_seconds": of.waited(instant).total_seconds(),
        "freshness_seconds": of.tolerance.freshness.total_seconds(),
        "lag": of.landed,
        **unlanded,
        "held": int(of.held is not None),
        "quarantine": of.in_quarantine,
        "gaps": len(of.losses),
        "history_rows": of.history_rows,
        "current_rows": of.current_rows,
    }


def _named(what: str, counted: Mapping[str, float], **tags: str) -> Iterator[Gauge]:
    return (Gauge(f"strandline.{what}.{name}", value, tags) for name, value in counted.items())


def _tagged() -> bool | None:
    """Whether what Airflow sends to has tags; None where it sends nothing. In Airflow's order."""
    if conf.getboolean(_SECTION, "statsd_datadog_enabled"):
        return conf.getboolean(_SECTION, "statsd_datadog_metrics_tags")
    if conf.getboolean(_SECTION, "statsd_on"):
        return conf.getboolean(_SECTION, "statsd_influxdb_enabled")
    return True if conf.getboolean(_SECTION, "otel_on") else None
