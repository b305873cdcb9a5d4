"""The recording of examples/postgres-inventory in Avro, as its folder beside that one holds it.

`PYTHONPATH=.:tests python -m samples.avro_recording` writes it anew; a test holds it to this.
"""

import json
import sys
from base64 import b64encode
from pathlib import Path

from samples.avro import Registry

EXAMPLES = Path(__file__).parents[2] / "examples"
RECORDED = EXAMPLES / "postgres-inventory" / "capture.jsonl"
FOLDER = EXAMPLES / "postgres-inventory-avro"


def files() -> dict[str, str]:
    """What the folder has besides its README, by name: the capture, and a file for each schema."""
    registry = Registry()
    with RECORDED.open(encoding="utf-8") as recorded:
        lines = [_in_avro(json.loads(line), registry) for line in recorded]
    schemas = {
        f"schemas/{name.removeprefix('confluent:')}.avsc": f"{_indented(each.text)}\n"
        for name, each in registry.schemas.known.items()
    }
    return {"capture.jsonl": "".join(lines), **schemas}


def _in_avro(record: dict, registry: Registry) -> str:
    """A line of the capture: all of it stays, but for the bytes of key and value."""
    for part in ("key", "payload"):
        if record[part] is not None:
            written = registry.avro(record[part].encode())
            record[part] = {"base64": b64encode(written).decode()}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def _indented(schema: str) -> str:
    return json.dumps(json.loads(schema), indent=1)


def main() -> int:
    """Writes the files."""
    for name, text in files().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
