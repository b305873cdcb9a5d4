"""`[catalog]`: where SQL engines find the histories by name, a Hive metastore.

The section names an Airflow connection, which has the addresses.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from strandline.sources.section import Section

PUBLICATIONS = "publications"
PUBLISHED, CURRENT, AS_OF = "_published", "_current", "_as_of"
_CUT = "_at_"
_KEPT = 3  # publications whose cut can be read by name
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_LONGEST = 128  # letters of a name, of which a metastore keeps no more
_MOST = 100


@dataclass(frozen=True, slots=True)
class Catalog:
    """The catalog of a source.

    `database` has the histories, `names` what tables are called there that are not to be called as
    by default, `publications` of how many of the last publications each has a database of its own.
    """

    connection: str
    database: str
    names: Mapping[str, str]
    publications: int

    @staticmethod
    def of(section: Section, source: str) -> "Catalog":
        """The catalog of a source file's section."""
        database: str = section.take("database", str, _folded(source))
        _check(section, "database", database, _LONGEST - len(_CUT) - len("1000000000"))
        names = section.mapping("names")
        for table, name in names.items():
            _check(section, f"names.{table}", name, _LONGEST - len(PUBLISHED))
        found = Catalog(
            connection=section.connection("metastore_default"),
            database=database,
            names=MappingProxyType(names),
            publications=section.number("publications", 0, _MOST, default=_KEPT),
        )
        section.finish()
        return found

    def name(self, table: str) -> str:
        """What a table is called in the database."""
        return self.names.get(table) or _folded(table)

    def cut(self, number: int | str) -> str:
        """The database of the tables as the publication of that number has them; `*`: of any."""
        return f"{self.database}{_CUT}{number}"

    def number(self, database: str) -> int | None:
        """The number of the publication that a database is of; None where it is of none."""
        begins, _, number = database.rpartition(_CUT)
        return int(number) if begins == self.database and number.isdecimal() else None

    def clashes(self, tables: Iterable[str]) -> dict[str, str]:
        """Why a table cannot be called what it would be called, by table, with the remedy."""
        taken = {PUBLICATIONS: "the table of publications"}
        clashes = {}
        for table in sorted(tables, key=lambda each: (each not in self.names, each)):
            name = self.name(table)
            claimed = (name, *(f"{name}{view}" for view in (PUBLISHED, CURRENT, AS_OF)))
            other = next((taken[each] for each in claimed if each in taken), None)
            if other is not None:
                clashes[table] = f"its name there, '{name}', clashes with {other}: {_remedy(table)}"
            elif len(name) > _LONGEST - len(PUBLISHED):
                clashes[table] = f"its name there is too long, '{name}': {_remedy(table)}"
            else:
                taken |= dict.fromkeys(claimed, f"that of '{table}'")
        return clashes


def _remedy(table: str) -> str:
    return f'give it another one in [catalog.names]: "{table}" = …'


def _folded(text: str) -> str:
    """A name that every engine takes, whatever letters the text has."""
    return re.sub(r"[^a-z0-9_]", "_", text.lower())


def _check(section: Section, key: str, name: str, longest: int) -> None:
    if not _NAME.fullmatch(name) or len(name) > longest:
        section.refuse(
            key,
            "is a name that every SQL engine is to take: small letters, digits and '_', no "
            f"digit first, {longest} letters at most, not {name!r}",
        )
