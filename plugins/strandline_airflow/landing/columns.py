"""Messages of Kafka as columns of the landing table: key, value and headers are its very bytes."""

from collections.abc import Collection, Sequence
from datetime import date
from itertools import accumulate
from typing import Any

import pyarrow as pa
from confluent_kafka import Message

from strandline.alone.stores.landing import LANDING
from strandline.runs.segment import Segment

# `timestamp` is Kafka's, in UTC: milliseconds there, microseconds in Delta, null where the record
# has none, or one that no calendar has: a producer may count nanoseconds, which 64 bits do not hold
# a thousand times. `timestamp_type` says who set it: 0 nobody, 1 the producer, 2 the broker.
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999  # milliseconds of the years 1 to 9999


def columns(segment: Segment, messages: Sequence[Message], day: date) -> pa.RecordBatch:
    """The records of a segment that are to lie in the partition `day` of the table."""
    stamps = [message.timestamp() for message in messages]
    alike = {
        "topic": segment.topic,
        "topic_id": segment.topic_id,
        "partition": segment.partition,
        "landed_date": day,
    }
    own = {
        "offset": [message.offset() for message in messages],
        "timestamp": [
            millis * 1000 if kind and _FIRST <= millis <= _LAST else None for kind, millis in stamps
        ],
        "timestamp_type": [kind for kind, _ in stamps],
        "leader_epoch": [message.leader_epoch() for message in messages],
        "key": [message.key() for message in messages],
        "value": [message.value() for message in messages],
    }
    # Pairs; what is produced may also be declared as a dict.
    headers: list[Any] = [message.headers() or () for message in messages]
    every = {
        **{
            name: pa.repeat(pa.scalar(value, LANDING.field(name).type), len(messages))
            for name, value in alike.items()
        },
        **{name: pa.array(values, LANDING.field(name).type) for name, values in own.items()},
        "headers": _headers(headers),
    }
    return pa.RecordBatch.from_arrays([every[name] for name in LANDING.names], schema=LANDING)


def _headers(of_messages: Sequence[Collection[tuple[str, bytes | None]]]) -> pa.ListArray:
    """All headers one after the other, and where those of each record end."""
    header = LANDING.field("headers").type.value_type
    ends = accumulate(map(len, of_messages), initial=0)
    flat = [each for headers in of_messages for each in headers]
    parts = [
        pa.array([each[place] for each in flat], header.field(place).type)
        for place in range(header.num_fields)
    ]
    pairs = pa.StructArray.from_arrays(parts, fields=list(header))
    return pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pairs, type=LANDING.field("headers").type
    )
