"""The README's calls with the models that datamodel-code-generator generates."""

import json
import os
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from models import AuditLine, CreateInstance, Drift, Error, Instance, Observation, Processed

HEADERS = {"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"}


def call(path: str, body: "CreateInstance | Observation | None" = None) -> dict:
    # Fields that have a default are not sent.
    data = None if body is None else body.model_dump_json(exclude_none=True).encode()
    try:
        with urlopen(Request(os.environ["API"] + path, data, HEADERS), timeout=30) as answer:
            return json.load(answer)
    except HTTPError as error:
        return json.load(error)


created = call("/instances", CreateInstance(name="Ada"))["data"]
instance_id = created["id"]
observation = Observation(mode_target="EXPLORATION", signal_strength=0.8)
processed = Processed.model_validate(call(f"/instances/{instance_id}/process", observation)["data"])
assert processed.snapshot.cycle == 1, processed
assert Instance.model_validate(call(f"/instances/{instance_id}")["data"]).name == "Ada"
missing = Error.model_validate(call("/instances/inst_0000000000000000"))
assert str(getattr(missing.error, "value", missing.error)) == "not_found", missing

# An answer of a later release: an unknown value, and an unknown field.
known = processed.drift.model_dump(mode="json")
later = Drift.model_validate({**known, "level": "D9", "later": {"any": 1}})
assert later.level == "D9", later
assert "action" in AuditLine.model_fields
