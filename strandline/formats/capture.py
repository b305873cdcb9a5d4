"""Reads and writes captures: Kafka records as JSON lines in the shape that `kcat -J` prints.

Fields: `topic, partition, offset, ts` (milliseconds, may be absent), `headers` (a flat list name,
value, name, value …, may be absent), `key`, `payload` (text; null is a tombstone). Source: kcat's
JSON envelope. Bytes that are no text, of Avro say, stand as `{"base64": "…"}` in place of a text. A
capture may be compressed by gzip, and begin with a byte order mark.
"""

import base64
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from strandline.changes.record import Coordinates, Record
from strandline.errors import SpecError

_BASE64 = "base64"
_GZIP = b"\x1f\x8b"  # RFC 1952
_EARLIEST, _LATEST = -62_135_596_800_000, 250_000_000_000_000  # milliseconds: years 1 and 9,892
_DIGITS = 20  # of 64 bits, and more than Python reads are an error of another kind


def read(paths: Iterable[Path]) -> Iterator[Record]:
    """Every record of the captures in the order of files and lines.

    Raises `SpecError` that names file and line where a line is not such a record.
    """
    for path in paths:
        number = 0
        try:
            with _opened(path) as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        yield _record(line, f"{path}:{number}")
        except UnicodeDecodeError as error:
            raise SpecError(
                f"{path}: not UTF-8 behind line {number}; what is no text in records (Avro, "
                'Protobuf) has to be written as {"base64": "…"}, what is compressed otherwise than '
                "by gzip as plain text"
            ) from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise SpecError(f"{path}: damaged behind line {number}: {error}") from error
        except OSError as error:
            raise SpecError(f"cannot read capture {path}: {error.strerror}") from error


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    with path.open("rb") as file:
        packed = file.peek(len(_GZIP)).startswith(_GZIP)  # a pipe cannot be read again
        plain = gzip.GzipFile(fileobj=file) if packed else file
        yield TextIOWrapper(plain, encoding="utf-8-sig", newline="\n")


def _record(line: str, where: str) -> Record:
    try:
        fields = _object(json.loads(line))
        return Record(
            at=_coordinates(fields),
            timestamp=_millis(fields.get("ts") or 0),
            key=_bytes(fields["key"]),
            value=_bytes(fields["payload"]),
            headers=_headers(fields.get("headers") or []),
        )
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        wrong = f"no {error}" if isinstance(error, KeyError) else error
        raise SpecError(
            f"{where}: not a record as `kcat -J` prints it ({wrong}); "
            "needed are topic, partition, offset, key and payload"
        ) from error


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("it is no object")
    return value


def _coordinates(fields: dict[str, Any]) -> Coordinates:
    """Where a record stands: these three tell it from all others."""
    topic = fields["topic"]
    if not isinstance(topic, str) or not topic:
        raise TypeError(f"topic is {topic!r}, not the name of one")
    topic.encode()  # JSON may spell half of a character
    partition, offset = (_number(name, fields[name]) for name in ("partition", "offset"))
    return Coordinates(topic, partition, offset)


def _number(name: str, value: object) -> int:
    number = value
    if isinstance(value, str) and value.isdecimal() and len(value) <= _DIGITS:
        number = int(value)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{name} is {value!r}, not a number from 0 on")
    return number


def _millis(value: str | float) -> int:
    """Kafka's time; 0 where there is none."""
    millis = int(value)
    if not _EARLIEST <= millis <= _LATEST:
        raise ValueError(f"ts is {millis}, not milliseconds since 1970")
    return millis


def _bytes(value: object) -> bytes | None:
    """Text, as kcat prints it; a tool that embedded the JSON document itself is read as well."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {_BASE64}:
        return base64.b64decode(value[_BASE64], validate=True)  # an error of its is a ValueError
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _headers(flat: object) -> tuple[tuple[str, bytes | None], ...]:
    if not isinstance(flat, list):
        raise TypeError("headers are no list of names and values")
    return tuple(
        (str(name), _bytes(value)) for name, value in zip(flat[::2], flat[1::2], strict=True)
    )
