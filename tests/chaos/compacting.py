"""`spark_apps/compact.py` behind doors, for `spark-submit`; takes its arguments."""

import runpy
from pathlib import Path

from chaos import worker
from chaos.doors import REACHED, Doors, fate_of_environment, of_spark


def _tell(pid: int) -> None:
    print(REACHED, pid, flush=True)  # noqa: T201 - whoever watches waits for it


of_spark(Doors.of_environment(_tell))
worker.befall(fate_of_environment())
APPLICATION = Path(__file__).parents[2] / "spark_apps" / "compact.py"
runpy.run_path(str(APPLICATION), run_name="__main__")
