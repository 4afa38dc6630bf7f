"""Writes ``src/identity_engine/_generated.py`` from ``clients/models/models.json``.

    python tools/generate_models.py            writes the file
    python tools/generate_models.py --check    fails if the committed file is out of date

Change the models in the service's ``clients/models``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from formatting import formatted
from model_words import WORDS

PACKAGE = Path(__file__).resolve().parent.parent
SOURCE = PACKAGE.parent / "models" / "models.json"
TARGET = PACKAGE / "src" / "identity_engine" / "_generated.py"

HEADER = '"""Data of the API, generated from models.json by tools/generate_models.py."""'

OPTIONS = [
    *("--input-file-type", "openapi"),
    *("--output-model-type", "pydantic_v2.BaseModel"),
    *("--base-class", "identity_engine._core.model.Model"),
    *("--base-class-map", '{"Contract": "identity_engine._core.model.PromptedModel"}'),
    *("--target-python-version", "3.10"),
    *("--enum-field-as-literal", "all"),
    *("--formatters", "builtin"),
    *("--custom-file-header", HEADER),
    "--use-type-alias",
    "--use-union-operator",
    "--use-standard-collections",
    "--use-schema-description",
    "--use-field-description",
    "--use-inline-field-description",
    "--disable-timestamp",
    "--extra-fields=allow",
]


def main() -> int:
    """Writes or compares; returns 1 if the committed text is out of date."""
    text = generated()
    if sys.argv[1:] == ["--check"]:
        is_same = TARGET.exists() and TARGET.read_text("utf-8") == text
        print("models are up to date" if is_same else f"{TARGET.name} is out of date")
        return 0 if is_same else 1
    TARGET.write_text(text, "utf-8")
    return 0


def generated() -> str:
    """Generates the text of the module."""
    document = json.loads(SOURCE.read_text("utf-8"))
    models = {
        name: with_times({"description": WORDS[name], **schema} if name in WORDS else schema)
        for name, schema in document["$defs"].items()
        if not name.endswith("Query")
    }
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "models.json"), Path(folder, "models.py")
        given.write_text(json.dumps(as_api_document(models)), "utf-8")
        program = [sys.executable, "-m", "datamodel_code_generator"]
        command = [*program, "--input", str(given), "--output", str(made), *OPTIONS]
        subprocess.run(command, check=True, timeout=120)
        text = made.read_text("utf-8")
    return formatted(text, TARGET)


def as_api_document(models: dict[str, Any]) -> Any:
    """Wraps the models as components of an API document without paths, which has no root model."""
    text = json.dumps(models).replace("#/$defs/", "#/components/schemas/")
    info = {"title": "Identity Engine", "version": "1"}
    components = {"schemas": json.loads(text)}
    return {"openapi": "3.1.0", "info": info, "paths": {}, "components": components}


def with_times(schema: Any) -> Any:
    """Sets the format ``date-time`` of RFC 3339 times, which only their descriptions name."""
    if isinstance(schema, list):
        return [with_times(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    is_time = schema.get("type") == "string" and "RFC 3339" in str(schema.get("description"))
    changed = {name: with_times(item) for name, item in schema.items() if name != "tsType"}
    return {**changed, "format": "date-time"} if is_time else changed


if __name__ == "__main__":
    sys.exit(main())
