"""Groups may be dealt to tasks in any way that keeps each together: a task needs only the facts."""

from collections import defaultdict
from dataclasses import replace

from workloads import Choices, captured

from strandline.law import Stream
from strandline.law.facts import document
from strandline.law.group import derive
from strandline.law.group.edges import edges, joined


def tables(source, seeds):
    """The tables of workloads after one run that the general decoder has read."""
    for seed in seeds:
        choices = Choices.seeded(seed)
        stream = Stream(typed=False)
        stream.run(captured(choices, source).records)
        for topic, table in stream.tables.items():
            if stream.found[topic].error is None and table.context is not None:
                yield seed, choices, table, stream.found[topic]


def dealt(choices, table):
    """The keys of each task: groups are dealt one by one, in any order."""
    rows = table.records.rows.values()
    keys = {row.change.key for row in rows}
    keys |= {each.key for each in table.records.refused.values() if each.key is not None}
    tasks = defaultdict(set)
    count = choices.between(1, 4)
    for group in joined(keys, edges(rows, table.context.moves)):
        tasks[choices.below(count)].update(group)
    return tasks.values()


def counted(derived):
    return (
        sum(len(each.found.changes) for each in derived),
        sum(each.found.duplicates for each in derived),
        sum(each.found.absorbed for each in derived),
        sum(each.orphans for each in derived),
    )


def test_tasks_that_are_dealt_groups_make_the_history_of_one(source, seeds):
    for seed, choices, table, found in tables(source, seeds):
        facts = document.read(document.written(table.context.facts))
        context = replace(table.context, facts=facts)
        done = []
        for keys in dealt(choices, table):
            rows = [row for row in table.records.rows.values() if row.change.key in keys]
            refused = [each for each in table.records.refused.values() if each.key in keys]
            done.append(derive(rows, refused, context))
        versions = [v for each in done for own in each.versions.values() for v in own]
        assert sorted(versions, key=lambda v: (v.key, v.seq_from)) == list(found.versions), seed
        whole = {id(each): each for each in table.groups.values()}.values()
        assert counted(done) == counted(whole), seed
