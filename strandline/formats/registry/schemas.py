"""Schemas that records name by an id, as a registry gave them: what is known of them in a run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from strandline.errors import UndecodableError, UnknownSchemaError


class SchemaType(StrEnum):
    """What language a schema is written in, in the words of Confluent's registry."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """One schema, by an id that says whose number it is.

    `id` is `confluent:17`, `guid:4a1c…` (Confluent's id of 16 bytes, as a UUID),
    `apicurio-global:17`, `apicurio-content:17` or `glue:4a1c…` (a UUID). `references` are the ids
    of the schemas that it takes types from, `subject` is the name that it is registered under, for
    people.
    """

    id: str
    text: str
    type: SchemaType = SchemaType.AVRO
    references: tuple[str, ...] = ()
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Schemas:
    """The schemas that are known, by id; those of two runs compare by what they hold.

    `faults` says of ids that a registry was asked for in vain why it did not give them.
    """

    known: Mapping[str, StoredSchema] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict, compare=False)

    @staticmethod
    def of(stored: Iterable[StoredSchema]) -> "Schemas":
        """These schemas; of one id the last counts."""
        return Schemas({each.id: each for each in stored})

    def __bool__(self) -> bool:
        return bool(self.known)

    def among(self, ids: Iterable[str]) -> StoredSchema:
        """The schema that one of these ids is of.

        The first bytes of a record may be read in several ways. `UnknownSchemaError` where nobody
        knows any of the ids, `UndecodableError` where two of them are known and mean different
        schemas.
        """
        ids = tuple(ids)
        found = [self.known[each] for each in ids if each in self.known]
        if not found:
            raise UnknownSchemaError(ids, self.unknown(ids))
        first = found[0]
        for other in found[1:]:
            if (other.text, other.type) != (first.text, first.type):
                raise UndecodableError(
                    "ambiguous_schema",
                    f"the record may be written with the schema {first.id} or {other.id}: say in "
                    "the source file, as 'key_framing' or 'value_framing', which it is",
                )
        return first

    def unknown(self, ids: Iterable[str]) -> str:
        """That nobody knows a schema by any of these ids, and why, as far as it is known."""
        wanted = list(ids)
        why = next((self.faults[each] for each in wanted if each in self.faults), "")
        return f"no schema is known with the id {' or '.join(wanted)}" + (f": {why}" if why else "")

    def without(self, ids: Iterable[str]) -> "Schemas":
        """These schemas but for some: as they were before those were known."""
        gone = set(ids)
        if gone.isdisjoint(self.known):
            return self
        return Schemas(
            {name: of for name, of in self.known.items() if name not in gone}, self.faults
        )

    def texts(self, schema: StoredSchema) -> tuple[str, ...]:
        """The texts of the schemas that a schema refers to, each behind those it refers to."""
        found: dict[str, str] = {}
        self._add_texts(schema, found, (schema.id,))
        return tuple(dict.fromkeys(found.values()))

    def _add_texts(
        self, schema: StoredSchema, found: dict[str, str], above: tuple[str, ...]
    ) -> None:
        for each in schema.references:
            if each in above:
                raise UndecodableError("bad_schema", f"the schema {each} refers to itself")
            if each in found:
                continue
            referred = self.among([each])
            self._add_texts(referred, found, (*above, each))
            found.setdefault(each, referred.text)


NONE = Schemas()
