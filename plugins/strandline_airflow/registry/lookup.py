"""The schemas that landed records name: those that the lake lacks are asked for, once, and stored.

That a registry does not answer, or does not know an id, holds up no record: the id is stored with
the reason, so that compaction can say it, and the next landing asks again.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from random import random

import pyarrow as pa

from strandline.alone.stores import schemas
from strandline.alone.stores.schemas import SCHEMAS
from strandline.errors import Terminal, UndecodableError
from strandline.formats.registry import framing
from strandline.formats.registry.framing import KEY, VALUE, Framing
from strandline.formats.registry.schemas import NONE, StoredSchema
from strandline.runs.lake import SourceLake
from strandline.sources.registry import Kind, Registry
from strandline.sources.source import Source
from strandline_airflow.ledger import PINNED, Ledger
from strandline_airflow.registry import apicurio, confluent
from strandline_airflow.registry.client import Client, NoAnswerError, NotThereError

log = logging.getLogger(__name__)

Headers = tuple[tuple[str, bytes | None], ...]
Ids = tuple[str, ...]  # that one record's schema may have, the likeliest first

_MOST = 1_000  # ids that a task asks for: what is no framing may look like any number of them
_DOWN = 3  # ids in a row without an answer: then nobody is asked for any other

_ASKED = {Kind.CONFLUENT: confluent.asked, Kind.APICURIO: apicurio.asked}
_STRANGE = (KeyError, TypeError, IndexError, AttributeError, ValueError, RecursionError)
_PREFIXES = {Kind.CONFLUENT: confluent.PREFIXES, Kind.APICURIO: apicurio.PREFIXES}


class Lookup:
    """Asks for schemas and stores them, for one task; nobody is asked twice for an id.

    Of a source without a registry nothing is asked for.
    """

    def __init__(self, source: Source) -> None:
        self._registry = source.registry
        self._framings = {
            part: Framing(getattr(source.default_rules, f"{part}_framing")) for part in (KEY, VALUE)
        }
        self._uri = SourceLake(source.lake, source.name).schemas
        self._known = schemas.known(self._uri) if source.registry else NONE
        self._asked: set[str] = set(self._known.faults)
        self._count = 0  # ids that were asked for
        self._unanswered = 0  # of these, in a row
        self._silent: str | None = None

    def land(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Has the schemas stored that these records name, before they are landed themselves."""
        if self._registry is not None:
            self._store(self._registry, set(self._named(batches)))

    def again(self, batches: Iterable[pa.RecordBatch] = ()) -> None:
        """Asks once more for what was asked for in vain, and for what these records name."""
        if self._registry is not None:
            self._asked.clear()
            self._store(self._registry, {*map(_alike, self._known.faults), *self._named(batches)})

    def _named(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Ids]:
        for batch in batches:
            headers = _headers(batch.column("headers"))
            for part, said in self._framings.items():
                yield from named(batch.column(part).to_pylist(), headers, part, said)

    def _store(self, registry: Registry, wanted: Iterable[Ids]) -> None:
        new = sorted((ids for ids in wanted if not self._is_settled(ids)), key=self._turn)
        if not new:
            return
        self._asked.update(each for ids in new for each in ids)
        stored, faults = self._answers(registry, new)
        told = {name: why for name, why in faults.items() if self._known.faults.get(name) != why}
        for name, why in told.items():
            log.warning("The schema %s is not stored: %s", name, why)
        if stored or told:
            # Two tasks may be the first.
            Ledger(self._uri, SCHEMAS, configuration=(PINNED,)).ensure()
            schemas.append(self._uri, schemas.arrow(stored, told, datetime.now(UTC)))
            self._known = schemas.known(self._uri)
            log.info("Stored %d schemas; %d were asked for in vain", len(stored), len(faults))

    def _answers(
        self, registry: Registry, wanted: Sequence[Ids]
    ) -> tuple[list[StoredSchema], dict[str, str]]:
        """The schemas that the registry gives, and why it does not give others.

        Kafka forgets: not even a connection that is missing holds up what is to be landed.
        """
        stored: list[StoredSchema] = []
        faults: dict[str, str] = {}
        try:
            client = Client(registry)
        except Terminal as error:
            return stored, {ids[0]: str(error) for ids in wanted}
        with closing(client):
            for ids in wanted:
                why = self._ask(client, registry.kind, ids, stored)
                if why is not None:
                    faults[ids[0]] = why.encode(errors="replace").decode()
        return stored, faults

    def _turn(self, ids: Ids) -> tuple[float, Ids]:
        """In this order they are asked for: those that were asked for in vain by chance, and last.

        So those at which the registry always fails are not always before the same others.
        """
        in_vain = not self._known.faults.keys().isdisjoint(ids)
        return random() if in_vain else 0.0, ids  # noqa: S311 - no secret

    def _is_settled(self, ids: Ids) -> bool:
        return any(each in self._known.known or each in self._asked for each in ids)

    def _ask(self, client: Client, kind: Kind, ids: Ids, stored: list[StoredSchema]) -> str | None:
        """Adds the schema of the one of these ids that the registry may have; why it cannot."""
        mine = next((each for each in ids if each.partition(":")[0] in _PREFIXES[kind]), None)
        if mine is None:
            return f"a [registry] of kind {kind} has no such ids"
        if self._silent is not None:
            return self._silent
        if self._count == _MOST:
            return f"{client} was asked for {_MOST:,} others by the task, and this one has to wait"
        self._count += 1
        why: str | None = None
        try:
            stored += map(_checked, _ASKED[kind](client, mine))
        except NoAnswerError as error:
            why = f"{client} gives no answer: {error}"
            self._unanswered += 1
            if self._unanswered == _DOWN:
                self._silent = why
            return why
        except NotThereError as error:
            why = f"{client} does not give it: {error}"
        except _STRANGE as error:
            why = f"{client} answers as no registry does ({type(error).__name__}: {error})"
        self._unanswered = 0
        return why


def _checked(found: StoredSchema) -> StoredSchema:
    """A schema that can be stored: what a registry answers may be anything."""
    for text in (found.text, found.subject, *found.references):
        if not isinstance(text, str):
            raise TypeError(f"{found.id} is {type(text).__name__}, and no text")
        text.encode()
    return found


def _alike(schema_id: str) -> Ids:
    """The ids that one in vain may be meant by: a number of 4 bytes is of either kind."""
    prefix, _, number = schema_id.partition(":")
    if prefix not in {Framing.CONFLUENT, Framing.APICURIO_CONTENT}:
        return (schema_id,)
    return (f"{Framing.CONFLUENT}:{number}", f"{Framing.APICURIO_CONTENT}:{number}")


def _headers(column: pa.ListArray) -> list[Headers]:
    """Of each record the headers that name a schema; most have none."""
    if framing.HEADERS.isdisjoint(column.flatten().field("key").to_pylist()):
        return [()] * len(column)
    return [
        tuple((of["key"], of["value"]) for of in own or () if of["key"] in framing.HEADERS)
        for own in column.to_pylist()
    ]


def named(
    column: Iterable[bytes | None], headers: Iterable[Headers], part: str, said: Framing
) -> Iterator[Ids]:
    """The ids that keys or values name, of alike ones once; of what names none, nothing."""
    heads = set[tuple[Headers, bytes]]()
    for data, told in zip(column, headers, strict=True):
        if data is None or (head := (told, framing.head(data, said))) in heads:
            continue
        heads.add(head)
        try:
            found = framing.ids(data, part, told, said)
        except UndecodableError:
            continue  # compaction has it in quarantine, with the reason
        if found:
            yield found
