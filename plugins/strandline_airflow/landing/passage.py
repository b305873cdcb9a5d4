"""One pass over segments: what Kafka has of them becomes commits of the landing table."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import pyarrow as pa
from confluent_kafka import Message
from deltalake import DeltaTable

from strandline.alone.stores.landing import LANDING
from strandline.errors import Terminal
from strandline.runs.segment import Gap, Landed, Segment, incarnation
from strandline_airflow.landing import columns
from strandline_airflow.landing.complaints import Unread
from strandline_airflow.landing.kafka import KafkaSegments
from strandline_airflow.ledger import Claim, Ledger

log = logging.getLogger(__name__)

_UNKNOWN = -1  # the leader epoch before an offset, as librdkafka has it

# Bytes of raw records that wait for their turn as Python objects; the rest of a commit is Arrow.
_SLICE_BYTES = 8 << 20


@dataclass(slots=True)
class Passage:
    """A pass over segments from one look at the table; it commits as it goes.

    `rows` counts what is landed of each segment. The next commit takes along `batches`, with
    `pending` rows of each segment, which is `reached` up to that offset then. `epochs` has
    the leader epoch of the record right before that offset, -1 where it ends in a hole.
    """

    ledger: Ledger
    table: DeltaTable
    kafka: KafkaSegments
    day: date
    byte_budget: int
    before: Callable[[Sequence[pa.RecordBatch]], None]
    rows: Counter[Segment] = field(default_factory=Counter)
    batches: list[pa.RecordBatch] = field(default_factory=list)
    pending: Counter[Segment] = field(default_factory=Counter)
    reached: dict[Segment, int] = field(default_factory=dict)
    epochs: dict[Segment, int] = field(default_factory=dict)

    def land(self, segments: Sequence[Segment]) -> None:
        """Lands the segments to their ends; raises `Unread` once what could be read is landed."""
        seen = {segment: self.table.transaction_version(identity(segment)) for segment in segments}
        starts = {segment: max(segment.start, seen[segment] or 0) for segment in segments}
        self.rows.update({segment: starts[segment] - segment.start for segment in segments})
        missing = {one: start for one, start in starts.items() if start < one.end}
        for done in starts.keys() - missing.keys():
            log.info("%s is landed already", done)
        unread: Unread | None = None
        try:
            for chunk in self.kafka.consume(
                missing, min(_SLICE_BYTES, self.byte_budget), self._before(missing, seen)
            ):
                self._take(chunk)
                if sum(batch.nbytes for batch in self.batches) >= self.byte_budget:
                    self._commit(seen)
        except Unread as error:
            unread = error
        # A range may end in a hole: all of it counts as landed, up to its end.
        for one in missing.keys() - (unread.segments if unread else ()):
            if self.reached.get(one, seen[one]) != one.end:
                self.reached[one], self.epochs[one] = one.end, _UNKNOWN
        self._commit(seen)
        if unread:
            raise unread

    def _before(
        self, starts: Mapping[Segment, int], seen: Mapping[Segment, int | None]
    ) -> dict[Segment, int]:
        """Leader epochs of the records right before the starts, where they are landed."""
        known = {one: self._epoch(one) for one, start in starts.items() if start == seen[one]}
        return {one: epoch for one, epoch in known.items() if epoch not in {None, _UNKNOWN}}

    def _epoch(self, segment: Segment) -> int | None:
        return self.table.transaction_version(_epoch_id(segment))

    def _take(self, chunk: Mapping[Segment, Sequence[Message]]) -> None:
        for segment, messages in chunk.items():
            self.batches.append(columns.columns(segment, messages, self.day))
            self.pending[segment] += len(messages)
            self.reached[segment] = (messages[-1].offset() or 0) + 1
            epoch = messages[-1].leader_epoch()
            self.epochs[segment] = _UNKNOWN if epoch is None else epoch

    def _commit(self, seen: dict[Segment, int | None]) -> None:
        if not self.reached:
            return
        self._check_incarnations()
        self.before(self.batches)
        rows = pa.Table.from_batches(self.batches, LANDING)
        claims = [Claim(identity(one), seen[one], offset) for one, offset in self.reached.items()]
        claims += [
            Claim(_epoch_id(one), self._epoch(one), self.epochs[one]) for one in self.reached
        ]
        self.ledger.append(self.table, rows, claims)
        seen.update(self.reached)
        self.rows += self.pending
        log.info(
            "Landed %d records, %d bytes, of %d partitions",
            rows.num_rows,
            rows.nbytes,
            len(self.reached),
        )
        for done in (self.batches, self.reached, self.pending, self.epochs):
            done.clear()

    def _check_incarnations(self) -> None:
        """A topic deleted and made again since the plan has the name, but not the records.

        An id never comes back, so being there after the reading is having been there all the time.
        """
        ids = self.kafka.topic_ids({segment.topic for segment in self.reached})
        for segment in self.reached:
            if ids.get(segment.topic) != incarnation(segment.topic_id):
                raise Terminal(
                    f"topic {segment.topic} is no longer the one with id {segment.topic_id} that "
                    "this run planned: it was deleted or re-created; the next run of this DAG "
                    "plans what is there then"
                )


def identity(place: Segment | Landed | Gap) -> str:
    """The application id of a partition in the logs of all three tables."""
    return f"{place.topic_id}/{place.partition}"


def _epoch_id(segment: Segment) -> str:
    """The application id of the leader epoch of the record that was landed last."""
    return f"{identity(segment)}/leader_epoch"
