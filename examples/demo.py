"""`make demo`: two recorded databases become histories, and are compared with what happened.

Everything on the way is the real thing: the DAGs of `dags/`, Airflow's own runner, Spark started
by the provider's operator, Kafka's protocol. Only the broker is librdkafka's embedded one.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from examples import jvm, terminal
from examples.broker import Broker
from examples.captures import CAPTURES, WAVES, Capture
from examples.dag_runs import DagRun, DagRunError, DagRuns
from examples.histories import History, read, receipts, rows_of
from examples.jvm import RehearsalError
from examples.report import Chapter, Story, render
from examples.snippets import SNIPPETS, snippet
from examples.stage import PROJECT, Stage, Surroundings, surroundings
from examples.tally import tally
from examples.truth import compare
from strandline.runs.receipt import Receipt
from strandline.timelines.timeline import related, timeline

STATE = PROJECT / ".strandline" / "demo"
_SPARK_TASK = "compact"
_INTERRUPTED = 130  # what a shell reports of a program that Ctrl-C ended


@dataclass(frozen=True, slots=True)
class Play:
    """The running demo: where it keeps things, and the processes it directs."""

    stage: Stage
    console: Console
    progress: Progress
    kafka: Mapping[str, Broker]
    airflow: dict[str, DagRuns]

    def start(self) -> None:
        """Waits until Airflow can run DAGs."""
        line = self.progress.add_task("starting Airflow", total=None)
        dags = [dag for runs in self.airflow.values() for dag in runs.ready()]
        self.progress.remove_task(line)
        self._tell(f"ready   Airflow has read {len(set(dags))} DAGs")

    def wave(self, number: int, capture: Capture) -> None:
        """Sends a wave of one source's records and runs its DAGs on it."""
        sent = self.kafka[capture.source].replay(capture.wave(number))
        landed, compacted = self._run_dags(capture, f"wave {number}")
        receipt = receipts(self.stage.source_lake(capture))[-1]
        _refuse_errors(receipt)
        self._tell(
            f"wave {number}  {capture.source:<23}  {sent} sent, {_landed(receipt)} applied,"
            f" land {landed.seconds:.0f} s, compact {compacted.seconds:.0f} s"
        )

    def quiet(self, capture: Capture) -> None:
        """Runs the DAGs with nothing new; `DagRunError` where that started a Spark run."""
        before = len(receipts(self.stage.source_lake(capture)))
        _, compacted = self._run_dags(capture, "nothing new")
        spark = next(task.state for task in compacted.tasks if task.task == _SPARK_TASK)
        if spark != "skipped" or len(receipts(self.stage.source_lake(capture))) != before:
            raise DagRunError(f"{compacted.dag} ran Spark although nothing was new")
        self._tell(
            f"quiet   {capture.source:<23}  nothing new: task {_SPARK_TASK} {spark}, no Spark"
        )

    def _run_dags(self, capture: Capture, what: str) -> tuple[DagRun, DagRun]:
        line = self.progress.add_task(f"{what}  {capture.source}", total=None)

        def show(dag: str) -> Callable[[str], None]:
            return lambda task: self.progress.update(
                line, description=f"{what}  {capture.source}  {dag} · {task}"
            )

        airflow = self.airflow[capture.source]
        land, compact = f"land__{capture.source}", f"compact__{capture.source}"
        runs = airflow.run(land, show(land)), airflow.run(compact, show(compact))
        self.progress.remove_task(line)
        return runs

    def _tell(self, line: str) -> None:
        self.console.print(Text.assemble(("✓ ", "green"), line), soft_wrap=True)


def main() -> int:
    """Plays the demo; 0 where every key agrees, 1 where not, 130 after Ctrl-C."""
    console = Console(highlight=False)
    signal.signal(signal.SIGTERM, _interrupt)
    # A shell script starts its background jobs with SIGINT ignored; it has to work there too.
    signal.signal(signal.SIGINT, _interrupt)
    stage = Stage(_state())
    stage.clear()
    try:
        _rehearse(stage, console)
        started = time.monotonic()
        _play(stage, console)
        chapters = [_chapter(stage, capture) for capture in CAPTURES]
    except KeyboardInterrupt:
        console.print("stopped; every process that the demo started has ended")
        return _INTERRUPTED
    except (DagRunError, RehearsalError) as error:
        console.print(Text(f"the demo failed: {error}", style="red"))
        console.print(Text(f"all logs are in {stage.logs}"))
        return 1
    report = _write_report(stage, chapters)
    _show(console, stage, chapters, report, time.monotonic() - started)
    return 0 if all(chapter.agreement.total for chapter in chapters) else 1


def _state() -> Path:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, default=STATE, help="folder for everything it keeps")
    folder: Path = parser.parse_args().state
    return folder.resolve()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _rehearse(stage: Stage, console: Console) -> None:
    """The last of the set-up: what makes each start of Spark quicker."""
    archive = jvm.missing()
    if archive is not None:
        console.print("archiving Spark's classes: a minute or two, once")
        jvm.rehearse(archive, stage.logs / "rehearsal.log")


def _play(stage: Stage, console: Console) -> None:
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with ExitStack() as running:
        # Left in reverse: the processes end first, then nobody waits in a thread any more.
        pool = running.enter_context(ThreadPoolExecutor(len(CAPTURES)))
        around = running.enter_context(surroundings())
        progress = running.enter_context(Progress(*columns, console=console, transient=True))
        airflow = _airflow(stage, around, running)
        play = Play(stage, console, progress, around.kafka, airflow)
        play.start()
        for step in _steps(play):
            # All sources at once: one Spark alone leaves half of a second core idle.
            for done in [pool.submit(step, capture) for capture in CAPTURES]:
                done.result()


def _steps(play: Play) -> Iterator[Callable[[Capture], None]]:
    for number in WAVES:
        yield lambda capture, number=number: play.wave(number, capture)
    yield play.quiet


def _airflow(stage: Stage, around: Surroundings, running: ExitStack) -> dict[str, DagRuns]:
    """An Airflow per source, so that all can run DAGs at once without a scheduler."""
    connections = around.connections()
    return {
        source: running.enter_context(
            DagRuns(
                stage.environment(stage.folder / f"airflow-{source}", connections),
                stage.logs / f"{source}.log",
            )
        )
        for source in around.kafka
    }


def _landed(receipt: Receipt) -> int:
    return receipt.control + sum(table.counts.landed for table in receipt.tables)


def _refuse_errors(receipt: Receipt) -> None:
    errors = [f"{table.table}: {table.error}" for table in receipt.tables if table.error]
    if errors:
        raise DagRunError(f"run {receipt.number} of {receipt.source}: {'; '.join(errors)}")


def _chapter(stage: Stage, capture: Capture) -> Chapter:
    lake = stage.source_lake(capture)
    runs = receipts(lake)
    tables = tally(runs)
    histories = tuple(read(lake, table) for table in tables)
    return Chapter(
        source=capture.source,
        agreement=compare(rows_of(histories), capture.truth(), capture.clock_us),
        tables=tables,
        seconds=sum(run.seconds for run in runs),
        stories=tuple(_stories(capture.schema, {each.table: each for each in histories})),
        timelines=tuple(timeline(history.rows, history.key) for history in histories),
    )


def _stories(schema: str, histories: dict[str, History]) -> Iterator[Story]:
    orders = histories[f"{schema}.orders"]
    customers = histories[f"{schema}.customers"]
    promotions = histories[f"{schema}.promotions"]
    yield Story(
        "Order 5 became order 905, and came back",
        "A primary key was updated twice. The row left lane 5, changed its status as 905, and "
        "returned; _moved_from, _moved_to and _entity_id keep it one row.",
        timeline(related(orders.rows, orders.key, {"id": 5}), orders.key),
    )
    yield Story(
        "Order 7 was deleted, order 8 took its number",
        "Lane 7 is empty from the delete until the other row arrives.",
        timeline(related(orders.rows, orders.key, {"id": 7}), orders.key),
    )
    yield Story(
        "Customer 3 became customer 103",
        "Its large bio did not change. PostgreSQL's log does not repeat such a value; the history "
        "has it in every version.",
        timeline(related(customers.rows, customers.key, {"id": 3}), customers.key),
    )
    yield Story(
        "Promotions, truncated twice",
        "A TRUNCATE ends every row of the table that stood at its position, and no row after it.",
        timeline(promotions.rows, promotions.key),
    )


def _write_report(stage: Stage, chapters: list[Chapter]) -> Path:
    path = stage.folder / "report.html"
    path.write_text(render(chapters), encoding="utf-8")
    return path


def _show(
    console: Console, stage: Stage, chapters: list[Chapter], report: Path, seconds: float
) -> None:
    for chapter in chapters:
        console.print(terminal.numbers(chapter.source, chapter.tables, chapter.seconds))
    for story in (chapters[0].stories[0], chapters[0].stories[-1]):
        console.print(Text(f"{chapters[0].source}: {story.title}", style="bold"))
        console.print(terminal.picture(story.timeline, console.width), soft_wrap=True)
        console.print()
    _show_reading(console, stage, chapters[0])
    for chapter in chapters:
        _show_agreement(console, chapter)
    console.print(Text(f"report  {report}"))
    console.print(f"took    {seconds:.0f} s")


def _show_reading(console: Console, stage: Stage, chapter: Chapter) -> None:
    lake = stage.source_lake(CAPTURES[0])
    console.print(Text("The tables", style="bold"))
    for table in chapter.tables:
        console.print(Text(lake.history(table.table)), soft_wrap=True)
    for engine in SNIPPETS:
        console.print(Text(f"\nReading one with {engine}", style="bold"))
        program = snippet(engine, lake.history(chapter.tables[0].table))
        console.print(Text(program, style="cyan"), soft_wrap=True, end="")
    console.print()


def _show_agreement(console: Console, chapter: Chapter) -> None:
    found = chapter.agreement
    style = "bold green" if found.total else "bold red"
    console.print(
        Text.assemble(f"{chapter.source}  ", (f"agreed {found.agreed} / {found.keys} keys", style))
    )
    for wrong in found.disagreements:
        console.print(Text(f"  {wrong.table} {wrong.key}: {wrong.reason}"), soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
