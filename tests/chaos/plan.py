"""Which kills are still to come, and which befall the tasks of the next story."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random

from chaos.doors import Fate
from chaos.story import Ended
from strandline.runs.way import Way

# Kills of one task in one story, and how often the random instants are its: Spark costs ten others.
_IN_A_ROW = {"around": 20, "plan": 20, "publish": 20, "compact": 6}
_OFTEN = {"around": 4, "plan": 1, "publish": 1, "compact": 1}
_JVM = 8  # one in so many kills of a compaction is its JVM's: those take their time


@dataclass
class Plan:
    """Kills to come by task, and `killed` by what was written when they came."""

    queues: dict[str, deque[Fate]]
    killed: Counter[str] = field(default_factory=Counter)
    _asked: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def of(undisturbed: Iterable[Ended], kills: int, chance: Random, way: Way) -> "Plan":
        """Each step that an undisturbed story took, then random instants, `kills` in all.

        With fewer kills than steps some of the steps are left to chance; 0 is as many as steps.
        """
        attempts = list(undisturbed)
        named = [
            (attempt.task, Fate(step, _victims(attempt.task, number, way)))
            for attempt in attempts
            for number, step in enumerate(attempt.steps)
        ]
        wanted = kills or len(named)
        chosen = sorted(chance.sample(range(len(named)), min(wanted, len(named))))
        fates = [named[each] for each in chosen]
        for number in range(wanted - len(fates)):
            (attempt,) = chance.choices(attempts, [_OFTEN[_sort(one.task)] for one in attempts])
            # Rather early than late: a retry has less to do, and what ends well is not killed.
            after = attempt.seconds * chance.random() ** 2
            fates.append((attempt.task, Fate("", _victims(attempt.task, number, way), after)))
        queues: defaultdict[str, deque[Fate]] = defaultdict(deque)
        for task, fate in fates:
            queues[task].append(fate)
        return Plan(dict(queues))

    @property
    def left(self) -> int:
        return sum(map(len, self.queues.values()))

    def befall(self, task: str) -> Fate | None:
        """What befalls the next attempt at the task."""
        self._asked[task] += 1
        queue = self.queues.get(task)
        most = _IN_A_ROW[_sort(task)]
        return queue.popleft() if queue and self._asked[task] <= most else None

    def settle(self, attempts: Iterable[Ended]) -> None:
        """After a story: what did not come to pass is tried first in the next one.

        There it will: a first attempt takes the same steps as the undisturbed one, and an instant
        that came too late comes earlier.
        """
        self._asked.clear()
        for attempt in reversed(list(attempts)):
            if attempt.fate is None:
                continue
            if attempt.was_killed:
                self.killed[_kind(attempt.fate)] += 1
            else:
                after = attempt.fate.after and attempt.fate.after / 2
                self.queues[attempt.task].appendleft(replace(attempt.fate, after=after))


def _sort(task: str) -> str:
    return task.partition(" ")[0]


def _victims(task: str, number: int, way: Way) -> tuple[str, ...]:
    """Whom it hits: of a compaction the driver program, the JVM that started it, or both.

    Alone no JVM has started it: its parent is what all tasks are forked from.
    """
    turn = number % (2 * _JVM)
    if way is Way.ALONE or _sort(task) != "compact" or turn % _JVM:
        return ("task",)
    return ("parent", "task") if turn else ("parent",)


def _kind(fate: Fate) -> str:
    """`before save changes`, say, whichever table's; of other instants just that."""
    jvm = " (JVM)" if "parent" in fate.victims else ""
    if not fate.step:
        return f"at any instant{jvm}"
    when, door, path, _ = fate.step.split(" ")
    return f"{when} {door} {path.rpartition('/')[2]}{jvm}"
