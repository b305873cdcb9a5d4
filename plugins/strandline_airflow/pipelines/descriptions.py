"""What Airflow says of each DAG: a line in its list, and a text on its page."""

from dataclasses import dataclass

from strandline.sources.source import Source

_DRY = "The form is a dry run until `dry_run` is unticked: the log of the first task has the plan."


@dataclass(frozen=True, slots=True)
class Description:
    """One line, and what somebody should know who looks at the DAG for the first time."""

    line: str
    text: str

    def of(self, source: Source) -> str:
        """The text in Markdown, with which source it is of."""
        return (
            f"{self.line}.\n\n{self.text}\n\n"
            f"* source `{source.name}`: connector `{source.connector}`, topics "
            f"`{source.topic_prefix}.…`\n"
            f"* lake: `{source.lake}/{source.name}`\n"
            f"{_catalog(source)}"
        )


def _catalog(source: Source) -> str:
    if source.catalog is None:
        return ""
    return f"* catalog: database `{source.catalog.database}`, which `register` brings up to date\n"


WATCH = Description(
    "Looks at every source, and tells what has gone wrong and what is over",
    "A task for each source. It tells the notifiers of the source's file, or those of the variable "
    "`STRANDLINE_NOTIFIERS`, once when something starts and once when it ends. The task "
    "`_refused_files` fails while a source file is not right, and tells that once an hour. Paused, "
    "it tells nothing: unpause it with the first source.",
)

DESCRIPTIONS = {
    "land": Description(
        "Lands every record that is new in Kafka, as it came, in the lake",
        "`plan` asks Kafka for its offsets and cuts what is new into segments, `land` lands them, "
        "`collect` wakes the compaction, `report` fails where records were lost to Kafka's "
        "retention before they were landed. Running it again lands nothing twice.",
    ),
    "compact": Description(
        "Turns what has landed into history tables, and publishes them",
        "It runs when something has landed, and by its schedule. `plan` pins what is to be applied "
        "and skips the rest where nothing is new; `compact` applies it; `publish` puts all tables "
        "on record at once; `report` fails where a table could not be applied, when the others are "
        "published. Each table's asset is `strandline://SOURCE/tables/TABLE`.",
    ),
    "maintain": Description(
        "Writes small files together, deletes old ones, forgets what retention lets go",
        f"OPTIMIZE, VACUUM and the `[retention]` of the source file. {_DRY} By its schedule it is "
        "no dry run.",
    ),
    "replay": Description(
        "Rebuilds tables from what was landed, compares them, and swaps them if asked to",
        f"After a change of the source file or of Strandline. {_DRY} Without `swap` the published "
        "tables stay; with the number of a run in `undo`, what that run swapped is taken back.",
    ),
    "requeue": Description(
        "Reads records in quarantine again, once they can be read",
        f"By table, reason or time. {_DRY} What can still not be read stays in quarantine.",
    ),
    "erase": Description(
        "Destroys everything of given keys, in every store of a table",
        f"The keys, and those that they were moved from or to. {_DRY} What is erased cannot be "
        "brought back, and the table's time travel goes with it.",
    ),
    "epoch": Description(
        "Declares that the source's log goes on in a new lineage, as after a failover",
        f"Where positions start over, they order only within a lineage. {_DRY}",
    ),
    "backfill": Description(
        "Lands offsets or times again, from the source's cluster or another one",
        f"What was lost comes late to its place, what is there already changes nothing. {_DRY}",
    ),
    "release": Description(
        "Publishes a table as it is, once, although it is not as expected",
        "Of tables that `[expectations]` of the source file withhold. Who has released what, and "
        f"why, is on record with the publication. {_DRY}",
    ),
    "reconcile": Description(
        "Compares a table with the source's own rows, and corrects it if asked to",
        "The rows come from files or by a connection to the database. The differences are a table "
        f"in the lake. {_DRY}",
    ),
}
