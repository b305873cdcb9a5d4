"""The second round of facts: what only the places of rows tell, once the first is known of all."""

from collections.abc import Mapping, Sequence

from strandline.cells import inference, naming, widening
from strandline.cells.types import ColumnType
from strandline.changes.change import Change, Fence, Op
from strandline.formats.notification import Snapshot
from strandline.law import group
from strandline.law.decode.general import Decoded
from strandline.law.doubts import rekeyed
from strandline.law.facts import Facts
from strandline.law.group import in_flight, moves, repetition, sweep


def columns_of(
    facts: Facts, texts: frozenset[str], renamed_to: Mapping[str, str]
) -> dict[str, ColumnType]:
    """The business columns: declared ones as they appeared, then inferred ones by name.

    Raises `Terminal` where a column's values have no type in common, or its name is taken.
    """
    naming.check({**facts.declared, **facts.inferred}, renamed_to)
    shown = {
        name: inference.merged(name, sorted(kinds, key=kinds.__getitem__))
        for name, kinds in facts.inferred.items()
    }
    declared = sorted(facts.declared.items(), key=lambda each: min(each[1].values()))
    columns = {
        name: widening.common(
            name,
            [*sorted(kinds, key=kinds.__getitem__), *([shown[name]] if name in shown else [])],
            texts,
        )
        for name, kinds in declared
    }
    return columns | {name: shown[name] for name in sorted(shown.keys() - columns.keys())}


def survey(facts: Facts, rows: Sequence[Decoded], snapshots: Sequence[Snapshot]) -> Facts:
    """The facts and what the places of rows tell, of all deliveries of a table."""
    streamed: list[Change | Fence] = [
        *(row.change for row in rows if row.change.op is not Op.READ),
        *facts.fences.values(),
    ]
    facts += Facts(open=in_flight.open_transactions(streamed, facts.reads))
    changes = [group.settled(row, facts) for row in rows]
    facts += Facts(latest=rekeyed.latest(changes), first=sweep.first_reads(changes, snapshots))
    connector = facts.connector
    if connector is not None and connector.infers_moves:
        facts += Facts(halves=moves.halves(changes))
    if connector is not None and connector.shares:
        shared, rewound = repetition.survey(changes)
        repeated = max(repetition.suspects(changes), default="")
        facts += Facts(shared=shared, rewound=rewound, repeated=repeated)
    return facts
