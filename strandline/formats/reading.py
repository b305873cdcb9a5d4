"""Keys, values and headers as documents, whichever format they are written in."""

from dataclasses import dataclass

from strandline.errors import UndecodableError
from strandline.formats import connect
from strandline.formats.connect import Document
from strandline.formats.registry import avro, framing, json_schema, schemas
from strandline.formats.registry.framing import Framed, Framing, Headers
from strandline.formats.registry.schemas import Schemas, SchemaType, StoredSchema


@dataclass(frozen=True, slots=True)
class Written:
    """A datum and the schema that it names; `references` are the texts of those it refers to.

    `framing` are the bytes before the datum, `body` its own.
    """

    framing: bytes
    body: bytes
    schema: StoredSchema
    references: tuple[str, ...]

    def read(self, what: str) -> Document:
        """The datum as a document; `what` names the part in the error's detail."""
        match self.schema.type:
            case SchemaType.AVRO:
                return avro.read(self.body, what, self.schema.text, self.references)
            case SchemaType.JSON:
                return json_schema.read(self.body, what, self.schema.text, self.references)
        raise UndecodableError(
            "unsupported_format",
            f"the schema {self.schema.id} of the {what} is one of {self.schema.type}",
        )


@dataclass(frozen=True, slots=True)
class Formats:
    """How the records of a topic may be written, and the schemas that they may name."""

    schemas: Schemas = schemas.NONE
    key: Framing = Framing.AUTO
    value: Framing = Framing.AUTO

    def read_key(self, data: bytes, headers: Headers) -> Document:
        """The key of a record with these headers."""
        found = framing.framed(data, framing.KEY, headers, self.key)
        return self._read(found, data, "key")

    def read_value(self, data: bytes, headers: Headers) -> Document:
        """The value of a record with these headers."""
        found = framing.framed(data, framing.VALUE, headers, self.value)
        return self._read(found, data, "value")

    def read_header(self, data: bytes, what: str) -> Document:
        """A header, whose converter is another one than that of keys and values."""
        found = framing.framed(data, what)
        return connect.parse_header(data, what) if found is None else self._read(found, data, what)

    def written_key(self, data: bytes) -> Written | None:
        """How a key is written that says so itself; None: it is JSON as it stands."""
        return self._by_itself(data, framing.framed(data, framing.KEY, (), self.key))

    def written_value(self, data: bytes) -> Written | None:
        """The same of a value."""
        return self._by_itself(data, framing.framed(data, framing.VALUE, (), self.value))

    def _by_itself(self, data: bytes, found: Framed | None) -> Written | None:
        if found is not None and found.inflated:
            raise UndecodableError("unsupported_format", "the bytes of the datum are compressed")
        return None if found is None else self._written(found, data)

    def _written(self, found: Framed, data: bytes) -> Written:
        schema = self.schemas.among(found.ids)
        before = data[: len(data) - len(found.body)]
        return Written(before, found.body, schema, self.schemas.texts(schema))

    def _read(self, found: Framed | None, data: bytes, what: str) -> Document:
        return connect.parse(data, what) if found is None else self._written(found, data).read(what)
