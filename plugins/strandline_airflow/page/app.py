"""The page in Airflow: how sources stand, what is in quarantine, what a key went through.

Behind Airflow's own login: whoever may see plugins sees the sources whose `compact__SOURCE` they
may read. It reads; its one button is in `trigger`. All views lie side by side and link to each
other by relative addresses, so that it may be mounted anywhere.
"""

import logging
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_view
from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException as StarletteHTTPException

from strandline.errors import SpecError, StrandlineError, Transient
from strandline.runs.lake import SourceLake
from strandline.runs.reconciliation import TOPIC
from strandline.runs.standing import SourceStanding, TableStanding
from strandline.sources import source as source_file
from strandline.sources.source import Source
from strandline.timelines import words
from strandline_airflow import catalogue
from strandline_airflow.folder import folder_of_sources
from strandline_airflow.names import WATCH
from strandline_airflow.page import chapters, chart, findings, trigger
from strandline_airflow.page.permission import permitted
from strandline_airflow.page.rendering import HEADERS, address, shown

log = logging.getLogger(__name__)

PAGE_SIZE = 50


class NoSuchThing(SpecError):
    """What was asked for is not there; the text says what there is."""


class NoSuchTable(NoSuchThing):
    """The table, or its source, is not there: no way leads back to it."""


app = FastAPI(
    title="Strandline",
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
    dependencies=[Depends(requires_access_view(AccessView.PLUGINS))],
)


# ---------------------------------------------------- what a request is about


def _sources(user: Any) -> tuple[dict[str, Source], dict[str, str]]:
    """The sources that a user may see, by name, and by name what is wrong with files of others."""
    found: dict[str, Source] = {}
    refused: dict[str, str] = {}
    for path in sorted(folder_of_sources().glob("*.toml")):
        # Of a file that is not right there need be no DAG. Whoever may read it would see it.
        if not _may_read(user, path.stem):
            continue
        try:
            found[path.stem] = source_file.load(path)
        except Exception as error:  # noqa: BLE001 - as the DAG files have it
            refused[path.stem] = source_file.refusal(path, error)
    return found, refused


def _may_read(user: Any, source: str) -> bool:
    """Whether the user may see the runs of the DAG that makes the source's histories."""
    return permitted(user, f"compact__{source}", "GET")


def _named(user: GetUserDep, source: Annotated[str, Query()]) -> Source:
    """The source that a request names. What a user may not see is not there for him."""
    own, refused = _sources(user)
    if source in own:
        return own[source]
    there = ", ".join(own) or "none that you may see"
    raise NoSuchTable(refused.get(source) or f"there is no source '{source}'; there are: {there}")


NamedSource = Annotated[Source, Depends(_named)]
NamedTable = Annotated[str, Query()]


def _table(standing: SourceStanding, name: str) -> TableStanding:
    found = next((each for each in standing.tables if each.table == name), None)
    if found is None:
        close = findings.closest(name, [each.table for each in standing.tables])
        raise NoSuchTable(f"source '{standing.source}' has no table '{name}'; {close}")
    return found


# ---------------------------------------------------- the views


@app.get("/")
def overview(user: GetUserDep, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Every source with its tables, those in trouble first; `q` is a part of tables' names."""
    own, refused = _sources(user)
    now = _now()
    every = [chapters.chapter(source, now) for source in own.values()]
    lead = chapters.lead(every, len(refused), now)
    if q:
        every = [each for each in map(partial(chapters.found_in, q), every) if each["tables"]]
    return shown(
        "overview",
        chapters=sorted(every, key=partial(chapters.calm, now)),
        refused=refused.values(),
        paused=chapters.paused([WATCH]),
        lead=lead,
        q=q,
        now=now,
    )


@app.get("/source")
def one_source(source: NamedSource) -> Response:
    """One source, with what Kafka has beyond what is landed."""
    now = _now()
    return shown("source", **chapters.chapter(source, now, ask_kafka=True), now=now)


@app.get("/table")
def one_table(source: NamedSource, table: NamedTable) -> Response:
    """One table: how it stands, its runs, its gaps, and ways into its quarantine and its keys."""
    now = _now()
    standing = chapters.standing_of(source, ask_kafka=True)
    found = _table(standing, table)
    runs = catalogue.runs_of(source, table)
    return shown(
        "table",
        source=source,
        standing=standing,
        table=found,
        runs=runs[: chapters.RUNS_SHOWN],
        day=chart.day_of_table(runs, now),
        history=SourceLake(source.lake, source.name).history(found.table),
        now=now,
    )


@app.get("/changes")
def last_changes(source: NamedSource, table: NamedTable) -> Response:
    """The keys of a table that changed last, as what a truncate or a move did to several."""
    found = _table(chapters.standing_of(source), table)
    rows = findings.last_changed(source, found)
    return shown("changes", source=source, table=found, rows=rows, happened=words.happened)


@app.get("/rows")
def rows_as_of(
    source: NamedSource, table: NamedTable, at: Annotated[str, Query(max_length=40)] = ""
) -> Response:
    """The rows of a table as they stood at a moment in UTC, the first of them by key."""
    found = _table(chapters.standing_of(source), table)
    moment = _instant(at) if at.strip() else _now()
    rows = findings.as_of(source, found, moment)
    most = findings.SHOWN_ROWS
    return shown(
        "rows", source=source, table=found, at=moment, rows=rows[:most], more=len(rows) > most
    )


@app.get("/quarantine")
def quarantine(
    user: GetUserDep,
    source: NamedSource,
    table: NamedTable,
    reason: Annotated[str, Query()] = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> Response:
    """The records of a table that could not be read, a page at a time."""
    standing = chapters.standing_of(source)
    found = _table(standing, table)
    total = found.quarantined.get(reason, 0) if reason else found.in_quarantine
    pages = max(-(-total // PAGE_SIZE), 1)
    page = min(page, pages)
    lake = SourceLake(source.lake, source.name)
    return shown(
        "quarantine",
        source=source,
        table=found,
        reason=reason,
        may_requeue=trigger.may(user, source.name),
        records=findings.quarantined(lake, table, reason, PAGE_SIZE, (page - 1) * PAGE_SIZE),
        total=total,
        page=page,
        pages=pages,
    )


@app.post("/requeue", dependencies=[Depends(trigger.refuse_strangers)])
def requeue(
    user: GetUserDep,
    source: NamedSource,
    table: NamedTable,
    reason: Annotated[str, Query()] = "",
) -> Response:
    """Triggers `requeue__SOURCE` for the records that the quarantine view shows.

    The answer leads on to what only reads: Airflow's frame asks for its address again when it is
    loaded anew, and that triggers nothing then.
    """
    dag = f"requeue__{source.name}"
    if not trigger.may(user, source.name):
        raise HTTPException(403, f"Your role may not trigger {dag}; ask whoever may")
    found = _table(chapters.standing_of(source), table)
    conf = {"tables": [found.table], "reason": reason or None, "dry_run": False}
    run = trigger.requeue(user, source.name, conf)
    seen = {"source": source.name, "table": found.table, "reason": reason, "run": run}
    return RedirectResponse(address("requeue", **seen), 303, HEADERS)


@app.get("/requeue")
def requeued(
    source: NamedSource,
    table: NamedTable,
    run: Annotated[str, Query()],
    reason: Annotated[str, Query()] = "",
) -> Response:
    """What was triggered."""
    dag = f"requeue__{source.name}"
    found = _table(chapters.standing_of(source), table)
    paused = chapters.paused([dag])
    return shown(
        "requeued", source=source, table=found, reason=reason, dag=dag, run=run, paused=paused
    )


@app.get("/key")
def one_key(
    source: NamedSource, table: NamedTable, key: Annotated[str, Query(max_length=4_000)] = ""
) -> Response:
    """The timeline of a key, with the keys that its rows moved from and to."""
    found = _table(chapters.standing_of(source), table)
    if not key.strip():
        raise NoSuchThing(findings.how_to_spell(source, found))
    story = findings.story(source, found, key.strip())
    return shown("key", source=source, table=found, story=story, corrected=TOPIC)


@app.get("/record")
def one_record(
    source: NamedSource,
    topic: Annotated[str, Query()],
    partition: Annotated[int, Query(ge=0, lt=1 << 31)],
    offset: Annotated[int, Query(ge=0, lt=1 << 63)],
) -> Response:
    """One record, as Kafka had it."""
    lake = SourceLake(source.lake, source.name)
    found = findings.record(lake, topic, partition, offset)
    if not found and topic == TOPIC:
        raise NoSuchThing(
            f"no record says what this version does: run {offset} of reconcile__{source.name} set "
            "it right by the source's own rows"
        )
    if not found:
        raise NoSuchThing(
            f"no record {topic}[{partition}] {offset} is landed in source '{source.name}': an "
            "offset may be a hole of an aborted transaction, or retention of the landing table "
            "may have removed it"
        )
    return shown("record", source=source, records=found, topic=topic)


# ---------------------------------------------------- what they show


def _instant(text: str) -> datetime:
    """A moment that somebody wrote; one without an offset is in UTC."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise SpecError(
            f"'at' must be a moment such as 2026-11-21T12:00:00Z, not '{text}'"
        ) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _now() -> datetime:
    return datetime.now(UTC)


# ---------------------------------------------------- what goes wrong


def _message(status: int, text: str, request: Request, *, leads_back: bool = True) -> Response:
    """What went wrong, and the way back to the table that was asked about."""
    given = request.query_params
    source, table = given.get("source"), given.get("table")
    back = []
    if source and table and leads_back:
        back = [(address("table", source=source, table=table), table)]
    return shown("message", status, text=text, back=back)


@app.exception_handler(StrandlineError)
def _failed(request: Request, error: StrandlineError) -> Response:
    status = 404 if isinstance(error, NoSuchThing) else 400
    status = 503 if isinstance(error, Transient) else status
    return _message(status, str(error), request, leads_back=not isinstance(error, NoSuchTable))


@app.exception_handler(RequestValidationError)
def _misread(request: Request, error: RequestValidationError) -> Response:
    wrong = "; ".join(f"'{each['loc'][-1]}': {each['msg']}" for each in error.errors())
    return _message(400, f"This address cannot be understood: {wrong}", request)


@app.exception_handler(StarletteHTTPException)
def _refused(request: Request, error: HTTPException) -> Response:
    text = {
        401: "You are not logged in, or your session is over. Log in to Airflow, then open this "
        "page again",
        403: "Your role may not see this page. It takes the permission to see plugins; ask whoever "
        "administers this Airflow"
        if error.detail == "Forbidden"
        else str(error.detail),
        404: "There is no such view. Start at the overview",
        405: "This page only reads. What changes something is a DAG: trigger it in Airflow",
    }.get(error.status_code, str(error.detail))
    return _message(error.status_code, text, request, leads_back=error.status_code != 401)


@app.exception_handler(Exception)
def _broken(request: Request, _error: Exception) -> Response:
    # Airflow's server logs the error itself.
    return _message(500, "This view is broken; the log of the API server says why", request)
