"""Keys, values and headers as documents, whichever format they are written in."""

from dataclasses import dataclass

from strandline.errors import UndecodableError
from strandline.formats import connect
from strandline.formats.connect import Document
from strandline.formats.registry import avro, framing, json_schema, schemas
from strandline.formats.registry.framing import Framed, Framing, Headers
from strandline.formats.registry.schemas import Schemas, SchemaType


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

    def _read(self, found: Framed | None, data: bytes, what: str) -> Document:
        if found is None:
            return connect.parse(data, what)
        schema = self.schemas.among(found.ids)
        references = self.schemas.texts(schema)
        match schema.type:
            case SchemaType.AVRO:
                return avro.read(found.body, what, schema.text, references)
            case SchemaType.JSON:
                return json_schema.read(found.body, what, schema.text, references)
        raise UndecodableError(
            "unsupported_format", f"the schema {schema.id} of the {what} is one of {schema.type}"
        )
