"""What lies where in a lake. Every path of the project is made here.

`root` is any URI that Spark and delta-rs know (a folder, `s3a://…`); nothing here touches it.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

# What delta-rs 1.6 takes for something else, or not at all, in a folder or a URI: it reads `%41` as
# `A` on some of its ways and as three letters on others. All else it knows, a lone `%` too.
_STRANGE = re.compile(r"%[0-9A-Fa-f]{2}|[][^|\\\x00-\x1f\x7f]")


def strange(root: str) -> str | None:
    """The first part of a lake's root that delta-rs does not take as it stands; None: none."""
    found = _STRANGE.search(root)
    return None if found is None else found[0]


@dataclass(frozen=True, slots=True)
class SourceLake:
    """The tables and files of one source.

    A `shadow` has tables and a quarantine of its own, for the run of that number to build anew.
    """

    root: str
    source: str
    shadow: int | None = None

    @property
    def home(self) -> str:
        """The folder of the source."""
        return f"{self.root}/{self.source}"

    @property
    def landing(self) -> str:
        """Delta: raw records, as Kafka had them."""
        return f"{self.home}/landing"

    @property
    def partitions(self) -> str:
        """Delta: every partition that was ever planned, with the first offset to land."""
        return f"{self.home}/partitions"

    @property
    def gaps(self) -> str:
        """Delta: offsets that Kafka had deleted before they were landed."""
        return f"{self.home}/gaps"

    @property
    def control(self) -> str:
        """Delta: DDL events and notices of snapshots, as Kafka had them."""
        return f"{self.home}/control"

    @property
    def schemas(self) -> str:
        """Delta: the schemas that records name, as a registry gave them; see the store's module."""
        return f"{self.home}/schemas"

    @property
    def quarantine(self) -> str:
        """Delta: records that could not be decoded, with coordinates, reason and bytes."""
        return f"{self._stage}/quarantine"

    @property
    def epochs(self) -> str:
        """Delta: lineages of the log that were declared besides those of the source file."""
        return f"{self.home}/epochs"

    @property
    def manifests(self) -> str:
        """Delta: one row per compaction run; its log decides which run comes next."""
        return f"{self.home}/manifests"

    @property
    def publications(self) -> str:
        """Delta: one row per table and run, with the versions that belong together."""
        return f"{self.home}/publications"

    @property
    def differences(self) -> str:
        """Delta: what reconciliations found, a row for each key and run."""
        return f"{self.home}/differences"

    @property
    def watch(self) -> str:
        """Delta: one row, what the watch has told and what is still to be delivered."""
        return f"{self.home}/watch"

    @property
    def snapshots(self) -> str:
        """The folder of rows that were read from the source's database, to be compared."""
        return f"{self.home}/snapshots"

    def snapshot(self, table: str) -> str:
        """Delta: the rows of a table as its database had them last, all cells as text."""
        return f"{self.snapshots}/{_folder(table)}"

    def erased(self, number: int) -> str:
        """Delta: digests of the keys that a run erases."""
        return f"{self.run(number)}/erased"

    def run(self, number: int) -> str:
        """The folder of one run's manifest and receipt."""
        return f"{self.home}/runs/{number:08d}"

    def changes(self, table: str) -> str:
        """Delta: the changes of a table that the release before has spread; this one only reads."""
        return f"{self._table(table)}/changes"

    def records(self, table: str) -> str:
        """Delta: the landed records of a table, each under the keys that it names."""
        return f"{self._table(table)}/records"

    def history(self, table: str) -> str:
        """Delta: the SCD2 history of a table."""
        return f"{self._table(table)}/history"

    def deleted_keys(self, table: str) -> str:
        """Delta: keys whose delete was seen, but never a row.

        Why they are kept: docs/semantics.md, "A delete is remembered".
        """
        return f"{self._table(table)}/deleted_keys"

    def moves(self, table: str) -> str:
        """Delta: key moves that no header announced, found by their positions."""
        return f"{self._table(table)}/moves"

    def _table(self, table: str) -> str:
        return f"{self.tables}/{_folder(table)}"

    @property
    def tables(self) -> str:
        """The folder that has a folder for each table (`table_in`)."""
        return f"{self._stage}/tables"

    @property
    def shadows(self) -> str:
        """The folder of all shadows."""
        return f"{self.home}/shadow"

    @property
    def _stage(self) -> str:
        return self.home if self.shadow is None else f"{self.shadows}/{self.shadow:08d}"


def table_in(folder: str) -> str:
    """The table whose folder has this name."""
    return unquote(folder.replace("=", "%"))


def _folder(table: str) -> str:
    """The table's name, its odd letters as `=20`: see `strange` for why not as `%20`."""
    return quote(table, safe=".$-_").replace("%", "=")
