"""Write the description of the HTTP surface into docs/openapi.json."""

import json
import tempfile
from pathlib import Path

import brimful
from brimful.surfaces.http import create_app

PLACE = Path(__file__).resolve().parent.parent / "docs" / "openapi.json"


def description() -> str:
    """What the server answers at /openapi.json, indented."""
    with tempfile.TemporaryDirectory() as folder, brimful.open(folder, embedder="none") as engine:
        return json.dumps(create_app(engine).openapi(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    PLACE.write_text(description(), encoding="utf-8")
    print(f"wrote {PLACE.name}")
