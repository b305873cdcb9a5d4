"""The page in Airflow: how sources stand, what is in quarantine, what a key went through.

Behind Airflow's own login: whoever may see plugins sees the sources whose `compact__SOURCE` they
may read. It reads; its one button is in `trigger`. All views lie side by side and link to each
other by relative addresses, so that it may be mounted anywhere.
"""

import logging
from functools import partial
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Query
from fastapi.responses import RedirectResponse, Response

from strandline.runs.lake import SourceLake
from strandline.runs.reconciliation import TOPIC
from strandline_airflow.monitoring import catalogue
from strandline_airflow.page import asked, chapters, chart, mishaps, trigger
from strandline_airflow.page.api import RUNS_SHOWN, AskedApi
from strandline_airflow.page.asked import NamedSource, NamedTable, NoSuchThing
from strandline_airflow.page.findings import changes, record, refused
from strandline_airflow.page.findings import key as key_story
from strandline_airflow.page.permission import SEES_PLUGINS, AskingUser
from strandline_airflow.page.rendering import HEADERS, address, shown
from strandline_airflow.pipelines.names import WATCH

log = logging.getLogger(__name__)

PAGE_SIZE = 50

app = FastAPI(
    title="Strandline",
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
    dependencies=[SEES_PLUGINS],
)
mishaps.tell(app)


@app.get("/")
def overview(api: AskedApi, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Every source with its tables, those in trouble first; `q` is a part of tables' names."""
    own, wrong = asked.sources(api)
    now = asked.now()
    every = [chapters.chapter(source, now, api) for source in own.values()]
    lead = chapters.lead(every, len(wrong), now)
    if q:
        every = [each for each in map(partial(chapters.found_in, q), every) if each["tables"]]
    return shown(
        "overview",
        chapters=sorted(every, key=partial(chapters.calm, now)),
        refused=wrong.values(),
        paused=sorted(api.paused() & {WATCH}),
        lead=lead,
        q=q,
        now=now,
    )


@app.get("/source")
def one_source(source: NamedSource, api: AskedApi) -> Response:
    """One source, with what Kafka has beyond what is landed."""
    now = asked.now()
    return shown("source", **chapters.chapter(source, now, api, ask_kafka=True), now=now)


@app.get("/table")
def one_table(source: NamedSource, table: NamedTable) -> Response:
    """One table: how it stands, its runs, its gaps, and ways into its quarantine and its keys."""
    now = asked.now()
    standing = chapters.standing_of(source, ask_kafka=True)
    found = asked.table_of(standing, table)
    runs = catalogue.runs_of(source, table)
    return shown(
        "table",
        source=source,
        standing=standing,
        table=found,
        runs=runs[:RUNS_SHOWN],
        day=chart.day_of_table(runs, now),
        history=SourceLake(source.lake, source.name).history(found.table),
        now=now,
    )


@app.get("/changes")
def last_changes(source: NamedSource, table: NamedTable) -> Response:
    """The keys of a table that changed last, as what a truncate or a move did to several."""
    found = asked.table_of(chapters.standing_of(source), table)
    rows = changes.last_changed(source, found)
    return shown("changes", source=source, table=found, rows=rows)


@app.get("/change")
def one_change(
    source: NamedSource, table: NamedTable, at: Annotated[str, Query(max_length=200)]
) -> Response:
    """What one place in the source's log did to all keys of a table, such as a truncate."""
    found = asked.table_of(chapters.standing_of(source), table)
    what = changes.change(source, found, at.strip())
    return shown("change", source=source, table=found, change=what)


@app.get("/rows")
def rows_as_of(
    source: NamedSource, table: NamedTable, at: Annotated[str, Query(max_length=40)] = ""
) -> Response:
    """The rows of a table as they stood at a moment in UTC, the first of them by key."""
    found = asked.table_of(chapters.standing_of(source), table)
    moment = asked.instant(at) if at.strip() else asked.now().replace(microsecond=0)
    rows = changes.as_of(source, found, moment)
    most = changes.SHOWN
    return shown(
        "rows", source=source, table=found, at=moment, rows=rows[:most], more=len(rows) > most
    )


@app.get("/quarantine")
def quarantine(
    user: AskingUser,
    source: NamedSource,
    table: NamedTable,
    reason: Annotated[str, Query()] = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> Response:
    """The records of a table that could not be read, a page at a time."""
    standing = chapters.standing_of(source)
    found = asked.table_of(standing, table)
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
        records=refused.quarantined(lake, table, reason, PAGE_SIZE, (page - 1) * PAGE_SIZE),
        total=total,
        page=page,
        pages=pages,
    )


@app.post("/requeue", dependencies=[Depends(trigger.refuse_strangers)])
def requeue(
    user: AskingUser,
    api: AskedApi,
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
    found = asked.table_of(chapters.standing_of(source), table)
    conf = {"tables": [found.table], "reason": reason or None, "dry_run": False}
    run = trigger.requeue(user, api, source.name, conf)
    seen = {"source": source.name, "table": found.table, "reason": reason, "run": run}
    return RedirectResponse(address("requeue", **seen), 303, HEADERS)


@app.get("/requeue")
def requeued(
    api: AskedApi,
    source: NamedSource,
    table: NamedTable,
    run: Annotated[str, Query()],
    reason: Annotated[str, Query()] = "",
) -> Response:
    """What was triggered."""
    dag = f"requeue__{source.name}"
    found = asked.table_of(chapters.standing_of(source), table)
    paused = dag in api.paused()
    return shown(
        "requeued", source=source, table=found, reason=reason, dag=dag, run=run, paused=paused
    )


@app.get("/key")
def one_key(
    source: NamedSource, table: NamedTable, key: Annotated[str, Query(max_length=4_000)] = ""
) -> Response:
    """The timeline of a key, with the keys that its rows moved from and to."""
    found = asked.table_of(chapters.standing_of(source), table)
    if not key.strip():
        raise NoSuchThing(key_story.how_to_spell(source, found))
    story = key_story.story(source, found, key.strip())
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
    found = record.record(lake, topic, partition, offset)
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
