"""`make chaos`: kills at every step and at random instants; see the package."""

import argparse
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession
from strandline_spark.session import local

from chaos import law, orders
from chaos.nursery import PROJECT
from chaos.plan import Plan
from chaos.records import TOPICS, waves
from chaos.story import Story
from chaos.tasks import forget, newest
from strandline.runs.way import Way

FOLDER = Path(".strandline/chaos")


def main() -> int:
    """Exit 1 where the law did not hold after some kill."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=0, help="0: every step once")
    parser.add_argument("--seed", type=int, default=1, help="chooses the steps and the instants")
    parser.add_argument("--ways", type=Way, nargs="+", default=[Way.ALONE, Way.AUTO, Way.SPREAD])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    shutil.rmtree(asked.folder, ignore_errors=True)
    spark, chance = session(), Random(asked.seed)  # noqa: S311 - kills that repeat
    broken = [
        tell(Stage(spark, asked.folder.resolve() / way, way), kills, chance)
        for way, kills in zip(asked.ways, _shared(asked.kills, len(asked.ways)), strict=True)
        if kills or not asked.kills
    ]
    return max(broken)


def _shared(kills: int, ways: int) -> list[int]:
    """So many kills, as evenly as can be."""
    return [kills // ways + (number < kills % ways) for number in range(ways)]


@dataclass(frozen=True)
class Stage:
    """Where stories take place, and which way their compactions go."""

    spark: SparkSession
    folder: Path
    way: Way

    def story(self, name: str) -> Story:
        """A story in a folder of its own."""
        return Story(self.folder / name, TOPICS, self.spark, self.way)


def session() -> SparkSession:
    """The JVM that stays, started for many small runs."""
    os.environ["SPARK_CONF_DIR"] = str(PROJECT / "examples" / "spark")
    spark = local(
        "chaos",
        spark__sql__shuffle__partitions="1",
        # On a machine that stands still for minutes Spark would end by itself.
        spark__network__timeout="36000s",
        spark__executor__heartbeatInterval="18000s",
    )
    spark.sparkContext.setLogLevel("OFF")  # it would tell of every driver that it has lost
    return spark


def tell(stage: Stage, wanted: int, chance: Random) -> int:
    """Stories until all kills are made; 1 where the law did not hold after some."""
    spark = stage.spark
    told, ours = waves(), newest(spark)
    every = [record for wave in told for record in wave]
    with stage.story("undisturbed") as story:
        story.tell(told)
        broken = law.violations(story.lake, every)
        orders.told(story)
        undisturbed = law.state(story.lake)
    ours = forget(spark, ours)
    plan = Plan.of(story.attempts, wanted, chance, stage.way)
    print(
        f"{stage.way}, undisturbed: {len(broken)} violations; {plan.left} kills to come", flush=True
    )
    number = 0
    while plan.left:
        number += 1
        with stage.story(f"{number:04d}") as story:
            story.tell(told, plan.befall)
            found = law.violations(story.lake, every)
            orders.told(story, plan.befall)
            found += law.differences(undisturbed, law.state(story.lake))
        plan.settle(story.attempts)
        ours = forget(spark, ours)
        kills = plan.killed.total()
        print(f"story {number}: {kills} kills, {plan.left} to come, {len(found)} violations")
        sys.stdout.flush()
        for line in found:
            print(f"story {number}: {line}")
        broken += found
        if not found:
            story.clear()
    for kind, count in sorted(plan.killed.items()):
        print(f"{count:5d}  {kind}")
    print(f"{plan.killed.total()} kills, {len(broken)} violations")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
