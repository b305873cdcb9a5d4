"""The folder of a run: the manifest that goes to Spark and the receipt that comes back, as JSON.

They go through delta-rs as the tables do, so that one set of credentials is enough for a lake. The
manifest in the log stays the one that counts.
"""

from datetime import UTC, datetime

from strandline.alone.stores.tables import read_text, write_text
from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest
from strandline.runs.receipt import Receipt


def clock() -> str:
    """The time in ISO-8601 UTC, for the record alone: no run depends on it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def write_manifest(manifest: Manifest) -> str:
    """Puts the manifest where Spark reads it, be it again; returns that path."""
    path = f"{_folder(manifest)}/manifest.json"
    write_text(path, manifest.to_json())
    return path


def read_manifest(path: str) -> Manifest:
    """The manifest that `write_manifest` put there."""
    return Manifest.from_json(read_text(path))


def write_receipt(manifest: Manifest, receipt: Receipt) -> None:
    """Leaves the receipt of a run that nothing was submitted for."""
    write_text(_receipt(manifest), receipt.to_json())


def read_receipt(manifest: Manifest) -> Receipt:
    """The receipt that the run left; `Terminal` where there is none of this run."""
    path = _receipt(manifest)
    remedy = "see the log of the task before this one, and clear that task to run it again"
    try:
        receipt = Receipt.from_json(read_text(path))
    except (FileNotFoundError, KeyError, TypeError, ValueError) as error:
        raise Terminal(f"no receipt can be read at {path} ({error}); {remedy}") from error
    if receipt.number != manifest.number:
        raise Terminal(
            f"{path} is the receipt of run {receipt.number}, not of {manifest.number}; {remedy}"
        )
    return receipt


def _receipt(manifest: Manifest) -> str:
    return f"{_folder(manifest)}/receipt.json"


def _folder(manifest: Manifest) -> str:
    return SourceLake(manifest.lake, manifest.source).run(manifest.number)
