"""Parameters as dictionaries: typed dictionaries, and the types that methods accept.

Without postponed annotations, so that ``__required_keys__`` is correct at run time.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from typing_extensions import NotRequired, TypedDict

from identity_engine._generated import (
    BatchObservation,
    FleetObservation,
    InitialConfig,
    ModeTarget,
    Observation,
    QuestionId,
    SuggestedConfig,
    TestAnswer,
)

__all__ = [
    "BatchObservationDict",
    "FleetObservationDict",
    "InitialConfigDict",
    "ModeStrengthsDict",
    "ObservationDict",
    "TestAnswerDict",
]


class ObservationDict(TypedDict):
    """An ``Observation`` as a dictionary."""

    mode_target: ModeTarget
    signal_strength: float
    confidence: NotRequired[float]
    context: NotRequired[Mapping[str, Any]]
    timestamp: NotRequired[datetime | str]


class BatchObservationDict(ObservationDict):
    """A ``BatchObservation`` as a dictionary."""

    idempotency_key: NotRequired[str]


class FleetObservationDict(BatchObservationDict):
    """A ``FleetObservation`` as a dictionary."""

    instance_id: str


class ModeStrengthsDict(TypedDict, total=False):
    """``InitialModeStrengths`` as a dictionary."""

    perception: float
    exploration: float
    order: float
    assertion: float
    connection: float
    identity: float
    stress_response: float


class InitialConfigDict(TypedDict, total=False):
    """An ``InitialConfig`` as a dictionary."""

    mode_strengths: ModeStrengthsDict
    energy_level: float


class TestAnswerDict(TypedDict):
    """A ``TestAnswer`` as a dictionary."""

    question_id: QuestionId
    value: int


ObservationInput = Observation | ObservationDict | Mapping[str, Any]
"""An observation as a model, or as a mapping with the same fields."""

BatchObservationInput = (
    Observation | BatchObservation | ObservationDict | BatchObservationDict | Mapping[str, Any]
)
"""An observation of a batch. ``BatchObservation`` has its own idempotency key."""

FleetObservationInput = FleetObservation | FleetObservationDict | Mapping[str, Any]
"""An observation of a fleet call, with the id of its instance."""

InitialConfigInput = InitialConfig | SuggestedConfig | InitialConfigDict | Mapping[str, Any]
"""An initial state, such as ``initial_config`` of a test result."""

TestAnswerInput = TestAnswer | TestAnswerDict | Mapping[str, Any]
"""An answer to one statement of the personality test."""
