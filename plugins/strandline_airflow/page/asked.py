"""What a request is about: a source that its user may see, a table of it, a moment."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Query

from strandline.errors import SpecError
from strandline.runs.standing import SourceStanding, TableStanding
from strandline.sources import source as source_file
from strandline.sources.nearness import nearest
from strandline.sources.source import Source
from strandline_airflow.folder import folder_of_sources
from strandline_airflow.page.api import Api, AskedApi
from strandline_airflow.page.permission import sees


class NoSuchThing(SpecError):
    """What was asked for is not there; the text says what there is."""


class NoSuchTable(NoSuchThing):
    """The table, or its source, is not there: no way leads back to it."""


def sources(api: Api, only: str | None = None) -> tuple[dict[str, Source], dict[str, str]]:
    """The sources that a user may see, by name, and by name what is wrong with files of others.

    Where one is asked for `only` that is looked at, if it is there.
    """
    found: dict[str, Source] = {}
    refused: dict[str, str] = {}
    for path in sorted(folder_of_sources().glob("*.toml")):
        if only not in {None, path.stem} or not sees(api, path.stem):
            continue
        try:
            found[path.stem] = source_file.load(path)
        except Exception as error:  # noqa: BLE001 - as the DAG files have it
            refused[path.stem] = source_file.refusal(path, error)
    return found, refused


def _named(api: AskedApi, source: Annotated[str, Query()]) -> Source:
    """The source that a request names. What a user may not see is not there for him."""
    own, refused = sources(api, source)
    if source in own:
        return own[source]
    if source in refused:
        raise NoSuchTable(refused[source])
    there = ", ".join(sources(api)[0]) or "none that you may see"
    raise NoSuchTable(f"there is no source '{source}'; there are: {there}")


NamedSource = Annotated[Source, Depends(_named)]
NamedTable = Annotated[str, Query()]


def table_of(standing: SourceStanding, name: str) -> TableStanding:
    found = next((each for each in standing.tables if each.table == name), None)
    if found is None:
        close = nearest(name, [each.table for each in standing.tables])
        raise NoSuchTable(f"source '{standing.source}' has no table '{name}'; {close}")
    return found


def instant(text: str) -> datetime:
    """A moment that somebody wrote; one without an offset is in UTC."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise SpecError(
            f"'at' must be a moment such as 2026-11-21T12:00:00Z, not '{text}'"
        ) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def now() -> datetime:
    return datetime.now(UTC)
