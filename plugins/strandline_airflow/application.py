"""What Spark runs: the application, and the packages that go along with it.

`python -m strandline_airflow.application FOLDER` puts both into a folder, from which they go to
where another operator than `spark-submit`'s finds them.
"""

import os
import shutil
import sys
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

HOME_VARIABLE = "STRANDLINE_HOME"
APPLICATION = "compact.py"
PACKAGES = "strandline.zip"

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can hold


def main(arguments: Sequence[str]) -> int:
    """Writes the application and its packages into the folder, and tells where; 2 without one."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m strandline_airflow.application FOLDER\n")
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    application = shutil.copyfile(applications() / APPLICATION, folder / APPLICATION)
    sys.stdout.write(f"{application}\n{pack(folder / PACKAGES)}\n")
    return 0


def home() -> Path | None:
    """The checkout: STRANDLINE_HOME, or where this file lies; None where pip installed it."""
    given = os.environ.get(HOME_VARIABLE)
    folder = Path(given or Path(__file__).resolve().parents[2])
    return folder if given or (folder / "spark_apps").is_dir() else None


def applications() -> Path:
    """The folder of what `spark-submit` runs; pip puts it beside the packages."""
    checkout = home()
    return _installed() / "strandline_apps" if checkout is None else checkout / "spark_apps"


def pack(target: Path) -> Path:
    """Zips the core and the Spark wing for `--py-files`; the same sources give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        checkout = home()
        roots = (_installed(),) if checkout is None else (checkout, checkout / "spark_apps")
        for root in roots:
            for file in _sources(root):
                entry = zipfile.ZipInfo(file.relative_to(root).as_posix(), _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())
    return target


def _installed() -> Path:
    return Path(__file__).resolve().parents[1]


def _sources(root: Path) -> Iterable[Path]:
    packages = (root / name for name in ("strandline", "strandline_spark"))
    return sorted(file for package in packages for file in package.rglob("*.py"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
