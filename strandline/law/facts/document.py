"""Facts as a document of bytes, in which one run leaves to the next what it knows of a table.

MessagePack, of the same shape as `Facts`: what a mapping holds is a list of pairs, since its keys
are more than texts.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from strandline.connectors import CONNECTORS, Connector
from strandline.errors import Terminal
from strandline.law.facts import Facts

FORMAT = 3  # another number where the shape is another one


def written(facts: Facts) -> bytes:
    """The facts as bytes."""
    values = [_pairs(getattr(facts, of.name)) for of in fields(Facts)]
    return msgspec.msgpack.encode([FORMAT, *values], enc_hook=_named)


def read(data: bytes) -> Facts:
    """The facts of such a document; `Terminal` where another version of Strandline wrote it."""
    try:
        number, *values = msgspec.msgpack.decode(data)
        if number != FORMAT:
            raise Terminal(_UNREADABLE)
        shapes = zip(_SHAPES.items(), values, strict=True)
        return Facts(**{name: _made(value, shape) for (name, shape), value in shapes})
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError) as error:
        raise Terminal(_UNREADABLE) from error


_UNREADABLE = (
    "the facts of the run before were written by another version of Strandline: replay the table, "
    "which finds them anew"
)


def _pairs(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [[key, _pairs(each)] for key, each in value.items()]
    return value


def _made(value: Any, shape: Any) -> Any:
    if get_origin(shape) is not Mapping:
        return msgspec.convert(value, shape, dec_hook=_connector)
    key, of = get_args(shape)
    return {msgspec.convert(k, key, dec_hook=_connector): _made(each, of) for k, each in value}


def _named(value: object) -> str:
    if isinstance(value, Connector):
        return value.names[0]
    raise NotImplementedError(type(value).__name__)  # what msgspec expects of a hook


def _connector(of: type, name: Any) -> Any:
    if issubclass(of, Connector):
        return CONNECTORS[name]
    raise NotImplementedError(of.__name__)


_SHAPES = get_type_hints(Facts)
