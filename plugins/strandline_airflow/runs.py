"""The folder of a run: the manifest that goes to Spark and the receipt that comes back, as JSON.

Any store that fsspec and Airflow know will do; the manifest in the log stays the one that counts.
"""

from airflow.sdk import ObjectStoragePath

from strandline.errors import Terminal
from strandline.lake import SourceLake
from strandline.manifest import Manifest
from strandline.receipt import Receipt


def write_manifest(manifest: Manifest) -> str:
    """Puts the manifest where Spark reads it, be it again; returns that path."""
    folder = _folder(manifest)
    path = f"{folder}/manifest.json"
    try:
        ObjectStoragePath(folder).mkdir(parents=True, exist_ok=True)
        ObjectStoragePath(path).write_text(manifest.to_json())
    except OSError as error:
        raise Terminal(
            f"the manifest cannot be written to {path}: {error}; make the lake a folder or store "
            "that this process may write"
        ) from error
    return path


def read_manifest(path: str) -> Manifest:
    """The manifest that `write_manifest` put there."""
    return Manifest.from_json(ObjectStoragePath(path).read_text())


def read_receipt(manifest: Manifest) -> Receipt:
    """The receipt that the Spark application left; `Terminal` where there is none of this run."""
    path = f"{_folder(manifest)}/receipt.json"
    remedy = "see the log of task 'compact', and clear that task to run it again"
    try:
        receipt = Receipt.from_json(ObjectStoragePath(path).read_text())
    except (FileNotFoundError, KeyError, TypeError, ValueError) as error:
        raise Terminal(f"no receipt can be read at {path} ({error}); {remedy}") from error
    if receipt.number != manifest.number:
        raise Terminal(
            f"{path} is the receipt of run {receipt.number}, not of {manifest.number}; {remedy}"
        )
    return receipt


def _folder(manifest: Manifest) -> str:
    return SourceLake(manifest.lake, manifest.source).run(manifest.number)
