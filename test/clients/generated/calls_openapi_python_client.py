"""The README's calls with the client that openapi-python-client generates."""

import os

from identity_engine_service_client import AuthenticatedClient
from identity_engine_service_client.api.engine import process_observation
from identity_engine_service_client.api.instances import create_instance, get_instance
from identity_engine_service_client.models import (
    AuditLine,
    CreateInstance,
    Drift,
    Error,
    Observation,
    ObservationModeTarget,
)

client = AuthenticatedClient(base_url=os.environ["API"], token=os.environ["KEY"])

# Fields that have a default are not sent.
created = create_instance.sync(client=client, body=CreateInstance(name="Ada"))
assert not isinstance(created, Error) and created is not None, created
observation = Observation(mode_target=ObservationModeTarget.EXPLORATION, signal_strength=0.8)
processed = process_observation.sync(created.data.id, client=client, body=observation)
assert not isinstance(processed, Error) and processed is not None, processed
assert processed.data.snapshot.cycle == 1, processed
missing = get_instance.sync("inst_0000000000000000", client=client)
assert isinstance(missing, Error) and missing.error == "not_found", missing

# An answer of a later release: an unknown value, and an unknown field.
later = Drift.from_dict({**processed.data.drift.to_dict(), "level": "D9", "later": {"any": 1}})
assert later.level == "D9" and later.additional_properties["later"] == {"any": 1}, later
assert "action" in AuditLine.__annotations__
