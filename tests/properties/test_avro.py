"""Random workloads in Avro have the histories that they have in JSON with schemas."""

from samples.avro import Registry
from workloads import Choices
from workloads.record import came_to, recorded
from workloads.runs import arrivals
from workloads.shards import came_to as came_to_in_shards
from workloads.shards import sharded

from strandline.connectors import CONNECTORS
from strandline.law import in_runs, interpret


def half(seeds):
    """Each workload is folded three times here, and the half of them reaches what Avro changes."""
    return seeds[::2]


def in_avro(registry, runs, choices=None):
    """The runs in Avro; by chance some of their records, where there are choices."""
    return [[r if choices and choices.below(2) else registry.record(r) for r in of] for of in runs]


def test_runs_in_avro_make_the_history_of_runs_in_json(source, seeds):
    for seed, runs in arrivals(source, half(seeds)):
        registry = Registry()
        avro = in_avro(registry, runs)
        law = in_runs(runs, CONNECTORS[source]).tables
        assert in_runs(avro, CONNECTORS[source], schemas=registry.schemas).tables == law, seed
        tables = recorded(avro, schemas=registry.schemas)
        for table in interpret([record for run in runs for record in run]).tables:
            assert came_to(tables[table.topic]) == came_to(table), seed


def test_records_of_both_formats_cut_into_shards_make_the_history_of_json(source, seeds):
    for seed, runs in arrivals(source, half(seeds)):
        registry, choices = Registry(), Choices.seeded(seed)
        mixed = in_avro(registry, runs, choices)
        tables = sharded(choices, mixed, CONNECTORS[source], schemas=registry.schemas)
        for table in interpret([r for run in runs for r in run], CONNECTORS[source]).tables:
            assert came_to_in_shards(tables[table.topic]) == came_to_in_shards(table), seed
