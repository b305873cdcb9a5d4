"""Random transactional workloads: a database, its connector and Kafka, simulated.

`database` runs random transactions and keeps the rows. `truth` writes down the history that they
make, as docs/semantics.md says it: by key, version after version; it never sees a record.
`emitters` turn the same transactions into the change records that a connector would send, one
module per connector.
`kafka` delivers them: partitions, crashes, second deliveries. `capture` puts the four together.
"""

from workloads.capture import Capture, captured, packed
from workloads.choices import Choices
from workloads.comparison import differences, entity_differences, ill_formed, rows_by_topic
from workloads.emitters import SOURCES
from workloads.judging import complaints, pack_complaints

__all__ = [
    "SOURCES",
    "Capture",
    "Choices",
    "captured",
    "complaints",
    "differences",
    "entity_differences",
    "ill_formed",
    "pack_complaints",
    "packed",
    "rows_by_topic",
]
