"""Framings: how a key or value says which schema it is written with.

A registry's serializer puts the id before the bytes, or into a header. Which one it was shows in
the first byte, which no JSON begins with, and in the names of the headers:

| serializer | before the bytes | in a header of a key or value |
|---|---|---|
| Confluent | 0, an id of 4 bytes | `__key_schema_id`, `__value_schema_id`: the same bytes |
| | 1, a GUID of 16 bytes | |
| Apicurio | 0, a contentId of 4 bytes | `apicurio.key.contentId`, `apicurio.value.contentId` |
| | 0, a globalId of 8 bytes | `apicurio.key.globalId`, `apicurio.value.globalId` |
| AWS Glue | 3, 0 or 5 (zlib), a UUID of 16 bytes | |
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from strandline.errors import UndecodableError

Headers = Iterable[tuple[str, bytes | None]]

KEY, VALUE = "key", "value"
_ZERO, _GUID, _GLUE = 0, 1, 3
_LENGTHS = {_ZERO: 5, _GUID: 17, _GLUE: 18}
_PLAIN, _ZLIB = 0, 5  # Glue's compressions
_MOST = 128 << 20  # bytes that a compressed body may come to: more than Kafka's largest records
_CONFLUENT_HEADER = {KEY: "__key_schema_id", VALUE: "__value_schema_id"}
_APICURIO_HEADERS = {
    part: {f"apicurio.{part}.{word}Id": f"apicurio-{word}" for word in ("global", "content")}
    for part in (KEY, VALUE)
}
_ENCODINGS = {part: f"apicurio.{part}.encoding" for part in (KEY, VALUE)}
HEADERS = frozenset(_CONFLUENT_HEADER.values()).union(*_APICURIO_HEADERS.values())


class Framing(StrEnum):
    """What a source file may say of keys and values; `AUTO`: their bytes show it."""

    AUTO = "auto"
    NONE = "none"
    CONFLUENT = "confluent"
    APICURIO_CONTENT = "apicurio-content"
    APICURIO_GLOBAL = "apicurio-global"
    GLUE = "glue"


@dataclass(frozen=True, slots=True)
class Framed:
    """The ids that the schema may have, the likeliest first, and the bytes that it describes.

    `inflated`: they were compressed.
    """

    ids: tuple[str, ...]
    body: bytes
    inflated: bool = False


def framed(
    data: bytes, part: str, headers: Headers = (), said: Framing = Framing.AUTO
) -> Framed | None:
    """What stands before the bytes of a `part`; None: nothing, so they are JSON as they are."""
    if said is Framing.NONE:
        return None
    named = _named(data, part, headers, said) if headers else None
    if named is not None:
        return named
    first = data[0] if data else -1
    if first not in {_ZERO, _GUID, _GLUE}:
        return None
    if first == _GLUE and said in {Framing.AUTO, Framing.GLUE}:
        return _glue(data, part)
    if first == _GUID and said in {Framing.AUTO, Framing.CONFLUENT}:
        return Framed((f"guid:{_uuid(data[1:17], part)}",), data[17:])
    if first == _ZERO and said is not Framing.GLUE:
        return _zero(data, part, said)
    raise UndecodableError("bad_framing", f"the {part} begins with {first}, as no {said} does")


def ids(
    data: bytes, part: str, headers: Headers = (), said: Framing = Framing.AUTO
) -> tuple[str, ...]:
    """The ids alone that the schema of a `part` may have; none where nothing names one."""
    is_glue = data[:1] == bytes([_GLUE]) and said in {Framing.AUTO, Framing.GLUE}
    found = _glue_ids(data, part) if is_glue else None
    if found is None:
        of = framed(data, part, headers, said)
        found = () if of is None else of.ids
    return found


def head(data: bytes, said: Framing = Framing.AUTO) -> bytes:
    """As many of the first bytes as name the schema: parts that begin alike name the same one."""
    first = data[0] if data else -1
    if first not in _LENGTHS or said is Framing.NONE:
        return b""
    is_wide = said is Framing.APICURIO_GLOBAL or not any(data[1:5])
    return data[: 9 if first == _ZERO and is_wide else _LENGTHS[first]]


def _zero(data: bytes, part: str, said: Framing) -> Framed:
    """Numbers begin with 1: four zeros are the upper half of one with 8 bytes."""
    number = int.from_bytes(_whole(data[1:5], 4, part))
    if said is Framing.APICURIO_GLOBAL or (said is Framing.AUTO and not number):
        return Framed((f"apicurio-global:{int.from_bytes(_whole(data[1:9], 8, part))}",), data[9:])
    words = [Framing.CONFLUENT, Framing.APICURIO_CONTENT] if said is Framing.AUTO else [said]
    return Framed(tuple(f"{word}:{number}" for word in words), data[5:])


def _glue_ids(data: bytes, part: str) -> tuple[str, ...]:
    return (f"glue:{_uuid(data[2:18], part)}",)


def _glue(data: bytes, part: str) -> Framed:
    ids, body = _glue_ids(data, part), data[18:]
    if data[1] == _PLAIN:
        return Framed(ids, body)
    if data[1] != _ZLIB:
        raise UndecodableError("bad_framing", f"the {part} has the unknown compression {data[1]}")
    return Framed(ids, _inflated(body, part), inflated=True)


def _inflated(body: bytes, part: str) -> bytes:
    """A few bytes may say that they are many: no more are made than any record has."""
    inflating = zlib.decompressobj()
    try:
        whole = inflating.decompress(body, _MOST)
    except zlib.error as error:
        raise UndecodableError("bad_framing", f"the {part} is no zlib: {error}") from error
    if inflating.unconsumed_tail:
        raise UndecodableError("too_large", f"the {part} inflates to more than {_MOST} bytes")
    if not inflating.eof or inflating.unused_data:
        raise UndecodableError("bad_framing", f"the {part} is zlib that was cut, or goes on")
    return whole


def _named(data: bytes, part: str, headers: Headers, said: Framing) -> Framed | None:
    """By the last header of a name; what a header says counts more than the first byte."""
    found = dict(headers)
    wanted = _CONFLUENT_HEADER[part]
    told = found.get(wanted) if said in {Framing.AUTO, Framing.CONFLUENT} else None
    if told is not None:
        inner = framed(told, f"header {wanted}", (), Framing.CONFLUENT)
        if inner is None:
            raise UndecodableError("bad_framing", f"the header {wanted} is no id of a schema")
        return Framed(inner.ids, inner.body + data)
    ids = tuple(
        f"{word}:{int.from_bytes(_whole(number, 8, f'header {name}'))}"
        for name, word in _APICURIO_HEADERS[part].items()
        if said in {Framing.AUTO, word} and (number := found.get(name)) is not None
    )
    if ids and found.get(_ENCODINGS[part]) == b"JSON":
        raise UndecodableError("unsupported_format", f"the {part} is Avro's own JSON")
    return Framed(ids, data) if ids else None


def _uuid(data: bytes, part: str) -> UUID:
    return UUID(bytes=_whole(data, 16, part))


def _whole(data: bytes, size: int, part: str) -> bytes:
    if len(data) != size:
        raise UndecodableError("bad_framing", f"the {part} ends within the id of its schema")
    return data
