"""Connectors that read one log: their messages come in the order of its commits."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from workloads.emitters.emitter import Emitter
from workloads.messages import Message
from workloads.model import Snapshot, Step, Transaction


class OneLog(Emitter):
    """A connector of a database with one log of all its transactions.

    `whole`: whether the snapshot that is taken reads everything.
    """

    whole = False

    @abstractmethod
    def stream(self, group: Sequence[Transaction]) -> Iterator[Message]:
        """The messages of transactions that were open together, in order of their commits."""

    def before_snapshot(self, in_flight: Sequence[Transaction]) -> None:
        """Takes the snapshot's position; `in_flight` are open at that time."""

    def unseen(self) -> None:
        """The log goes on although nobody reads it."""

    def messages(self, steps: Sequence[Step]) -> list[Message]:
        sent: list[Message] = []
        for session in _sessions(steps):
            sent += self.heartbeat()
            group = [step for step in session if isinstance(step, Transaction)]
            for snapshot in (step for step in session if isinstance(step, Snapshot)):
                self.whole = snapshot.outcome in {"completed", "silent"}
                self.before_snapshot(group)
                sent += self.snapshot(snapshot)
            if group and not group[0].seen:
                self.unseen()
            elif group:
                sent += self.stream(group)
        return sent


def _sessions(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps that happened at one time: a snapshot with what was open meanwhile, or a group."""
    session: list[Step] = []
    for step in steps:
        if session and (isinstance(step, Snapshot) or not step.joins):
            yield session
            session = []
        session.append(step)
    if session:
        yield session
