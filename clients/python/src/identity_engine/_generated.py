"""Data of the API, generated from models.json by tools/generate_models.py."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, ConfigDict, Field
from typing_extensions import TypeAliasType

from identity_engine._core.model import Model, PromptedModel

Action = TypeAliasType(
    "Action",
    Literal[
        "explore",
        "question",
        "elaborate",
        "suggest",
        "execute",
        "pivot",
        "challenge",
        "comfort",
        "clarify",
        "stabilize",
        "defer",
        "withdraw",
    ]
    | str,
)
"""
A later release may return other values.
"""


ActorKind = TypeAliasType(
    "ActorKind", Literal["key", "user", "operator", "provider", "service", "anonymous"] | str
)
"""
A later release may return other values.
"""


class AnswerScale(Model):
    """
    The answer scale, with a label for each value.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    min: int
    max: int
    labels: list[str]


class AsOf(Model):
    """
    Time and position of the log up to which an answer has all events.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    time: AwareDatetime
    """
    RFC 3339.
    """

    events_cursor: str
    """
    `cursor` of `GET /events` at this time.
    """


class AuditActor(Model):
    """
    Actor of an audited action.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    kind: ActorKind
    id: str | None = None
    """
    1 to 128 characters.
    """

    session: str | None = None
    """
    1 to 128 characters.
    """

    name: str | None = None
    """
    1 to 128 characters.
    """


AuditOutcome = TypeAliasType(
    "AuditOutcome",
    Literal[
        "begun",
        "done",
        "repeated",
        "unauthorized",
        "forbidden",
        "not_found",
        "invalid_request",
        "conflict",
        "throttled",
        "rate_limited",
        "quota_exceeded",
        "service_unavailable",
        "internal",
        "billing_provider_not_configured",
        "webhook_verification_failed",
        "invalid_plan",
    ],
)


class BillingPage(Model):
    """
    A page of the payment provider.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    url: str
    """
    URL of a page of the payment provider.
    """


class Checkout(Model):
    """
    The body of a checkout.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    plan: str
    """
    `indie` or `pro`. At most 64 characters.
    """

    success_url: str
    """
    An https URL without a user name. http is allowed only for this machine. At most 2048 characters.
    """

    cancel_url: str
    """
    An https URL without a user name. http is allowed only for this machine. At most 2048 characters.
    """


CommitmentThreshold = TypeAliasType(
    "CommitmentThreshold", Literal["low", "medium", "high", "very_high"] | str
)
"""
A later release may return other values.
"""


Composite = TypeAliasType(
    "Composite",
    Literal[
        "knowledge_focused_relationship_aware",
        "visionary_leader",
        "safe_adventurer",
        "principled_caregiver",
    ]
    | str,
)
"""
A later release may return other values.
"""


class CreatedInstance(Model):
    """
    A created instance, as the create returns it.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    name: str
    description: str
    tags: dict[str, str] | None = None
    """
    Tags of the instance. Absent in release 1.0.
    """

    created_at: AwareDatetime
    """
    RFC 3339.
    """

    updated_at: AwareDatetime
    """
    RFC 3339.
    """


class CursorPagination(Model):
    """
    Position of a page in the audit trail.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    limit: int
    """
    At least 1.
    """

    next_cursor: str | None
    """
    The `cursor` of the next page, also if this page is empty. `null`: no next page.
    """


class DeletedEventData(Model):
    """
    The instance was deleted. The stream ends.
    """

    model_config = ConfigDict(
        extra="allow",
    )


class DeletedInstance(Model):
    """
    The answer to a delete.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    deleted: bool
    """
    Always true.
    """


class DeletedWebhook(Model):
    """
    The answer to a delete of a webhook endpoint.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^whk_[0-9a-f]{16}$.
    """

    deleted: bool
    """
    Always true.
    """


DominantMode = TypeAliasType(
    "DominantMode",
    Literal[
        "Perception",
        "Exploration",
        "Order",
        "Assertion",
        "Connection",
        "Identity",
        "Stress_Response",
        "None",
    ]
    | str,
)
"""
A later release may return other values.
"""


class DominantModeCounts(Model):
    """
    Number of instances by first dominant mode.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    Perception: int
    """
    At least 0.
    """

    Exploration: int
    """
    At least 0.
    """

    Order: int
    """
    At least 0.
    """

    Assertion: int
    """
    At least 0.
    """

    Connection: int
    """
    At least 0.
    """

    Identity: int
    """
    At least 0.
    """

    Stress_Response: int
    """
    At least 0.
    """

    None_: int = Field(..., alias="None")
    """
    At least 0.
    """


DriftEventLevel = TypeAliasType("DriftEventLevel", Literal["D1", "D2", "D3"] | str)
"""
A later release may return other values.
"""


DriftLevel = TypeAliasType("DriftLevel", Literal["D0", "D1", "D2", "D3"] | str)
"""
A later release may return other values.
"""


class DriftLevelCounts(Model):
    """
    Number of instances by drift level.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    D0: int
    """
    At least 0.
    """

    D1: int
    """
    At least 0.
    """

    D2: int
    """
    At least 0.
    """

    D3: int
    """
    At least 0.
    """


DriftReason = TypeAliasType(
    "DriftReason",
    Literal["within_band", "situational_departure", "sustained_shift", "identity_breach"] | str,
)
"""
A later release may return other values.
"""


ErrorCode = TypeAliasType(
    "ErrorCode",
    Literal[
        "unauthorized",
        "forbidden",
        "not_found",
        "invalid_request",
        "conflict",
        "throttled",
        "rate_limited",
        "quota_exceeded",
        "service_unavailable",
        "internal",
        "billing_provider_not_configured",
        "webhook_verification_failed",
        "invalid_plan",
    ]
    | str,
)
"""
A later release may return other values.
"""


ErrorReason = TypeAliasType(
    "ErrorReason",
    Literal[
        "malformed_json",
        "duplicate_key",
        "invalid_utf8",
        "body_too_large",
        "unsupported_media_type",
        "missing_field",
        "unknown_field",
        "wrong_type",
        "out_of_range",
        "unknown_value",
        "too_short",
        "too_long",
        "too_deep",
        "invalid_text",
        "invalid_timestamp",
        "timestamp_in_future",
        "timestamp_order",
        "timestamps_mixed",
        "unknown_question",
        "duplicate_question",
        "too_few_answers",
        "idempotency_key_reused",
        "invalid_parameter",
        "unknown_parameter",
        "cursor_expired",
        "invalid_header",
        "malformed_request",
        "request_timeout",
        "uri_too_long",
        "expectation_failed",
        "headers_too_large",
        "http_version_not_supported",
        "address_not_allowed",
        "read_only_key",
        "missing_scope",
        "account_suspended",
        "instance_limit",
        "webhook_limit",
        "endpoint_refused",
        "audit_full",
        "too_many_streams",
        "too_many_tags",
        "version_mismatch",
        "already_exists",
        "deleted",
        "min_cycle_interval",
        "unknown_cycle",
        "cycle_trimmed",
        "state_not_stored",
        "replay_mismatch",
        "limiter_unavailable",
        "engine_unavailable",
        "audit_unavailable",
        "too_many_refused_keys",
        "too_many_refused_notifications",
        "too_many_unfinished_bodies",
        "overloaded",
        "index_rebuilding",
        "billing_unavailable",
        "deadline_exceeded",
        "outcome_unknown",
        "shutting_down",
        "upgrade_in_progress",
    ]
    | str,
)
"""
A later release may return other values.
"""


EventType = TypeAliasType(
    "EventType",
    Literal[
        "created",
        "renamed",
        "reset",
        "deleted",
        "rolled_back",
        "drift_changed",
        "stress_changed",
        "contract_changed",
        "mode_changed",
    ],
)


class EventsPagination(Model):
    """
    Position of a page in the events of the account.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    limit: int
    """
    At least 1.
    """

    has_more: bool
    next_cursor: str
    """
    `cursor` of the next page. Present on every page.
    """

    newer_cursor: str | None = None
    """
    `cursor` of the events after this page. Only with `order=desc`.
    """


EventsStart = TypeAliasType("EventsStart", Literal["oldest", "newest"])


Expressiveness = TypeAliasType("Expressiveness", Literal["minimal", "low", "medium", "high"] | str)
"""
A later release may return other values.
"""


class FailedChange(Model):
    """
    A change that was given up.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    position: int
    """
    Position in the log of the account, for a redelivery. At least 0.
    """

    instance_id: str
    failed_at: AwareDatetime
    """
    RFC 3339.
    """

    failure: str


class FleetRefusal(Model):
    """
    Body that a single call would get.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    error: str
    message: str
    retry_after: int | None = None
    """
    At least 0.
    """

    details: dict[str, Any] | None = None


FleetStatus = TypeAliasType(
    "FleetStatus",
    Literal["applied", "replayed", "throttled", "refused", "unknown", "not_attempted"] | str,
)
"""
A later release may return other values.
"""


class FleetSummary(Model):
    """
    Number of observations by status.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    applied: int
    """
    At least 0.
    """

    replayed: int
    """
    At least 0.
    """

    throttled: int
    """
    At least 0.
    """

    refused: int
    """
    At least 0.
    """

    unknown: int
    """
    At least 0.
    """

    not_attempted: int
    """
    At least 0.
    """


class ForkInstance(Model):
    """
    The body of a fork.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    name: str
    """
    1 to 100 characters.
    """

    description: str | None = None
    """
    0 to 2000 characters.
    """

    tags: dict[str, str] | None = None
    """
    At most 16 tags. A key has 1 to 64 characters, a value up to 256. Default: the tags of this instance.
    """

    cycle: int
    """
    At least 0.
    """

    generation: int | None = None
    """
    At least 1.
    """


class ForkOrigin(Model):
    """
    The past state in which a fork began.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    instance_id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    generation: int
    """
    At least 1.
    """

    cycle: int
    """
    At least 0.
    """


class ForkedInstance(Model):
    """
    A forked instance, as the fork returns it.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    name: str
    description: str
    tags: dict[str, str] | None = None
    """
    Tags of the instance. Absent in release 1.0.
    """

    created_at: AwareDatetime
    """
    RFC 3339.
    """

    updated_at: AwareDatetime
    """
    RFC 3339.
    """

    forked_from: ForkOrigin


class GapEventData(Model):
    """
    Requested cycles that are no longer stored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    from_: int = Field(..., alias="from")
    """
    Ordinal of an observation.
    """

    to: int
    """
    Ordinal of an observation.
    """


GenerationChoice = TypeAliasType("GenerationChoice", Literal["current", "all"])


class InitialModeStrengths(Model):
    """
    Missing keys are 0.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    perception: float | None = None
    """
    0 to 1.
    """

    exploration: float | None = None
    """
    0 to 1.
    """

    order: float | None = None
    """
    0 to 1.
    """

    assertion: float | None = None
    """
    0 to 1.
    """

    connection: float | None = None
    """
    0 to 1.
    """

    identity: float | None = None
    """
    0 to 1.
    """

    stress_response: float | None = None
    """
    0 to 1.
    """


InstancesSort = TypeAliasType("InstancesSort", Literal["created_at", "name", "changed_at"])


ItemStatus = TypeAliasType("ItemStatus", Literal["applied", "replayed", "throttled"] | str)
"""
A later release may return other values.
"""


JsonValue = TypeAliasType("JsonValue", Any)
"""
Any JSON value.
"""


KeyScope = TypeAliasType(
    "KeyScope",
    Literal[
        "full",
        "read",
        "audit",
        "billing",
        "full audit",
        "full billing",
        "full audit billing",
        "read audit",
        "read billing",
        "read audit billing",
        "audit billing",
    ]
    | str,
)
"""
A later release may return other values.
"""


class ListChange(Model):
    """
    Changes of a list of actions.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    added: list[Action]
    removed: list[Action]


class MinuteUsage(Model):
    """
    Requests of the current minute; `reset` is in Unix seconds.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    limit: int
    """
    Requests that the plan allows. At least 0.
    """

    remaining: int
    """
    Requests left. At least 0.
    """

    reset: int
    """
    Start of the next period, in Unix seconds. At least 0.
    """


ModeKey = TypeAliasType(
    "ModeKey",
    Literal[
        "perception",
        "exploration",
        "order",
        "assertion",
        "connection",
        "identity",
        "stress_response",
    ]
    | str,
)
"""
A later release may return other values.
"""


ModeName = TypeAliasType(
    "ModeName",
    Literal[
        "Perception",
        "Exploration",
        "Order",
        "Assertion",
        "Connection",
        "Identity",
        "Stress_Response",
    ]
    | str,
)
"""
A later release may return other values.
"""


class ModeScores(Model):
    """
    Scores of the personality test, 1 to 5 for each mode.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    perception: float
    """
    1 to 5.
    """

    exploration: float
    """
    1 to 5.
    """

    order: float
    """
    1 to 5.
    """

    assertion: float
    """
    1 to 5.
    """

    connection: float
    """
    1 to 5.
    """

    identity: float
    """
    1 to 5.
    """

    stress_response: float
    """
    1 to 5.
    """


class ModeStrengths(Model):
    """
    The strength of each mode, 0 to 1.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    perception: float
    """
    0 to 1.
    """

    exploration: float
    """
    0 to 1.
    """

    order: float
    """
    0 to 1.
    """

    assertion: float
    """
    0 to 1.
    """

    connection: float
    """
    0 to 1.
    """

    identity: float
    """
    0 to 1.
    """

    stress_response: float
    """
    0 to 1.
    """


ModeTarget = TypeAliasType(
    "ModeTarget",
    Literal[
        "PERCEPTION",
        "EXPLORATION",
        "ORDER",
        "ASSERTION",
        "CONNECTION",
        "IDENTITY",
        "STRESS_RESPONSE",
    ],
)


class MonthUsage(Model):
    """
    Cycles of the calendar month in UTC; `reset` is in Unix seconds.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    limit: int
    """
    Cycles that the plan allows. At least 0.
    """

    remaining: int
    """
    Cycles left. At least 0.
    """

    reset: int
    """
    Start of the next period, in Unix seconds. At least 0.
    """


class Observation(Model):
    """
    A behaviour of an agent, as sent to the service (interface 2.7).
    """

    model_config = ConfigDict(
        extra="allow",
    )
    mode_target: ModeTarget
    signal_strength: float
    """
    Intensity. 0 to 1.
    """

    confidence: float | None = None
    """
    Certainty. 0 to 1; default 1.
    """

    context: dict[str, Any] | None = None
    """
    Arbitrary metadata of at most 8192 bytes of JSON and 16 levels, including the object itself. The key `__proto__` is refused at every level, and `prototype` within `constructor`.
    """

    timestamp: AwareDatetime | None = None
    """
    Time of the observation (RFC 3339), at least 1.000 s after the previous. Default: now. At most 35 characters; RFC 3339.
    """


OpenEventType = TypeAliasType(
    "OpenEventType",
    Literal[
        "created",
        "renamed",
        "reset",
        "deleted",
        "rolled_back",
        "drift_changed",
        "stress_changed",
        "contract_changed",
        "mode_changed",
    ]
    | str,
)
"""
A later release may return other values.
"""


OpenModeTarget = TypeAliasType(
    "OpenModeTarget",
    Literal[
        "PERCEPTION",
        "EXPLORATION",
        "ORDER",
        "ASSERTION",
        "CONNECTION",
        "IDENTITY",
        "STRESS_RESPONSE",
    ]
    | str,
)
"""
A later release may return other values.
"""


OpenQuestionId = TypeAliasType(
    "OpenQuestionId",
    Literal[
        "q01",
        "q02",
        "q03",
        "q04",
        "q05",
        "q06",
        "q07",
        "q08",
        "q09",
        "q10",
        "q11",
        "q12",
        "q13",
        "q14",
        "q15",
        "q16",
        "q17",
        "q18",
        "q19",
        "q20",
        "q21",
        "q22",
        "q23",
        "q24",
        "q25",
        "q26",
        "q27",
        "q28",
        "q29",
        "q30",
        "q31",
        "q32",
        "q33",
        "q34",
        "q35",
    ]
    | str,
)
"""
A later release may return other values.
"""


OpenResetMode = TypeAliasType("OpenResetMode", Literal["initial", "default"] | str)
"""
A later release may return other values.
"""


class Pagination(Model):
    """
    The position of a page in its list.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    limit: int
    """
    At least 1.
    """

    offset: int
    """
    At least 0.
    """

    total: int
    """
    At least 0.
    """

    has_more: bool
    next_cursor: str | None
    """
    The `cursor` of the next page. `null`: no next page.
    """


PersonaId = TypeAliasType(
    "PersonaId",
    Literal[
        "persona_analytical",
        "persona_creative",
        "persona_leader",
        "persona_supporter",
        "persona_explorer",
        "persona_guardian",
        "persona_philosopher",
        "persona_performer",
        "persona_scholar",
        "persona_diplomat",
        "persona_pioneer",
        "persona_catalyst",
    ]
    | str,
)
"""
A later release may return other values.
"""


PersonasVersion = TypeAliasType("PersonasVersion", Literal["v1"])


PlanName = TypeAliasType("PlanName", Literal["free", "indie", "pro", "enterprise"] | str)
"""
A later release may return other values.
"""


class Portal(Model):
    """
    The body of a portal call.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    return_url: str
    """
    An https URL without a user name. http is allowed only for this machine. At most 2048 characters.
    """


QualityVerdict = TypeAliasType("QualityVerdict", Literal["ok", "caution", "invalid"] | str)
"""
A later release may return other values.
"""


class Question(Model):
    """
    A statement of the personality test.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: OpenQuestionId
    position: int
    """
    At least 1.
    """

    text: str


QuestionId = TypeAliasType(
    "QuestionId",
    Literal[
        "q01",
        "q02",
        "q03",
        "q04",
        "q05",
        "q06",
        "q07",
        "q08",
        "q09",
        "q10",
        "q11",
        "q12",
        "q13",
        "q14",
        "q15",
        "q16",
        "q17",
        "q18",
        "q19",
        "q20",
        "q21",
        "q22",
        "q23",
        "q24",
        "q25",
        "q26",
        "q27",
        "q28",
        "q29",
        "q30",
        "q31",
        "q32",
        "q33",
        "q34",
        "q35",
    ],
)


class Questionnaire(Model):
    """
    The personality test.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    test_id: str
    version: str
    instructions: str
    scale: AnswerScale
    question_count: int
    questions: list[Question]


RecoveryPath = TypeAliasType(
    "RecoveryPath",
    Literal[
        "none",
        "rest",
        "disengagement",
        "structuring",
        "support_seeking",
        "reappraisal",
        "problem_solving",
    ]
    | str,
)
"""
A later release may return other values.
"""


class RecoveryProfile(Model):
    """
    Recovery of the agent from stress.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    preferred_path: RecoveryPath
    support_required: bool
    cooldown_required: bool


class Redeliver(Model):
    """
    The body of a redelivery.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    positions: list[int]
    """
    1 to 200 items.
    """


class Redelivered(Model):
    """
    The answer to a redelivery.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    changes: int
    """
    At least 0.
    """


class RenameInstance(Model):
    """
    The body of an update.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    name: str | None = None
    """
    1 to 100 characters.
    """

    description: str | None = None
    """
    0 to 2000 characters.
    """

    tags: dict[str, str] | None = None
    """
    Replaces all tags. At most 16 tags. A key has 1 to 64 characters, a value up to 256.
    """


class ResetEventData(Model):
    """
    A reset. The next cycles belong to a new generation.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    generation: int
    """
    The new generation. At least 1.
    """


ResetMode = TypeAliasType("ResetMode", Literal["initial", "default"])


RetryAdvice = TypeAliasType("RetryAdvice", Literal["never", "after", "same_key"] | str)
"""
A later release may return other values.
"""


Risk = TypeAliasType("Risk", Literal["avoidant", "cautious", "balanced", "bold"] | str)
"""
A later release may return other values.
"""


ShiftDirection = TypeAliasType("ShiftDirection", Literal["up", "down"] | str)
"""
A later release may return other values.
"""


class Simulation(Model):
    """
    The body of a simulation.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    observations: list[Observation]
    """
    1 to 20 items.
    """


SortOrder = TypeAliasType("SortOrder", Literal["asc", "desc"])


StressState = TypeAliasType("StressState", Literal["LOW", "MED", "HIGH", "OVER"] | str)
"""
A later release may return other values.
"""


class StressStateCounts(Model):
    """
    Number of instances by stress state.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    LOW: int
    """
    At least 0.
    """

    MED: int
    """
    At least 0.
    """

    HIGH: int
    """
    At least 0.
    """

    OVER: int
    """
    At least 0.
    """


class SuggestedConfig(Model):
    """
    A configuration to pass unchanged to a create.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    mode_strengths: ModeStrengths
    energy_level: float
    """
    0 to 1.
    """


class SustainedShift(Model):
    """
    Result of the test for a sustained shift.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    statistic: float
    """
    At least 0.
    """

    limit: float
    mode: ModeKey | None
    direction: ShiftDirection | None


class TagCount(Model):
    """
    Number of instances with a tag.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    key: str
    value: str
    count: int
    """
    At least 0.
    """


Tempo = TypeAliasType("Tempo", Literal["slow", "measured", "brisk", "rapid", "paused"] | str)
"""
A later release may return other values.
"""


class TestAnswer(Model):
    """
    The answer to one statement, 1 to 5.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    question_id: QuestionId
    value: int
    """
    1 to 5.
    """


class UpdatedInstance(Model):
    """
    An updated instance, as the update returns it.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    name: str
    description: str
    tags: dict[str, str] | None = None
    """
    Tags of the instance. Absent in release 1.0.
    """

    updated_at: AwareDatetime
    """
    RFC 3339.
    """


class Usage(Model):
    """
    Usage of the minute and of the month.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    minute: MinuteUsage
    month: MonthUsage


class WebhookCounts(Model):
    """
    Number of webhook endpoints by state.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    active: int
    """
    At least 0.
    """

    failing: int
    """
    Endpoints without a success since their last failure. At least 0.
    """

    paused: int
    """
    Endpoints that get nothing until someone resumes them. At least 0.
    """


WebhookPause = TypeAliasType("WebhookPause", Literal["requested", "failing", "removed"] | str)
"""
A later release may return other values.
"""


class WebhookRequest(Model):
    """
    Body of an attempt to deliver a message.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    body: str
    """
    Body that was sent, at most its first 4,096 characters.
    """

    is_truncated: bool
    """
    Whether the body is longer.
    """


class WebhookResponse(Model):
    """
    Answer of a webhook endpoint.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    status: int
    content_type: str | None = None
    """
    Empty: the endpoint sent none.
    """

    body: str | None = None
    """
    First 1,024 bytes of the body, as text of unknown content. Absent: no longer kept, or the endpoint is in an internal network.
    """

    is_truncated: bool | None = None
    """
    Whether the body is longer.
    """


class WebhookWithSecret(Model):
    """
    A webhook endpoint with its new secret.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^whk_[0-9a-f]{16}$.
    """

    url: str
    description: str
    event_types: list[OpenEventType]
    max_batch: int
    """
    At least 0.
    """

    paused: WebhookPause | None
    """
    Why nothing is sent: a request, three days of failures, or status 410.
    """

    failing_since: AwareDatetime | None
    """
    First failure since the last success.
    """

    changes_behind: int
    """
    Changes after the position of the endpoint, and changes that wait for another attempt. At least 0.
    """

    changes_failed: int
    """
    Changes that were given up, at most 200. At least 0.
    """

    old_secret_until: AwareDatetime | None
    """
    End of the overlap after a rotation.
    """

    created_at: AwareDatetime
    """
    RFC 3339.
    """

    secret: str
    """
    Verifies messages. Shown only in this answer. Pattern ^whsec_[A-Za-z0-9+/]{43}=$.
    """


class WholePagination(Model):
    """
    The length of a list that is always complete.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    total: int
    """
    At least 0.
    """


class AccountEvent(Model):
    """
    An event of the account: what changed in an instance.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Unique and permanent. A repeated event has the same id.
    """

    type: OpenEventType
    instance_id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    occurred_at: AwareDatetime
    """
    RFC 3339.
    """

    cycle: int
    """
    Cycle of the instance after the change. At least 0.
    """

    stress_state: StressState | None = None
    drift_level: DriftLevel | None = None
    from_: str | None = Field(None, alias="from")
    """
    Value before a change of stress state, drift level or leading mode.
    """

    to: str | None = None
    """
    Value after a change of stress state, drift level or leading mode.
    """

    allowed_actions: ListChange | None = None
    forbidden_actions: ListChange | None = None


class AnswerQuality(Model):
    """
    Reliability of the answers to a personality test.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    verdict: QualityVerdict
    consistency: float
    """
    0 to 1.
    """

    acquiescence: float
    """
    -2 to 2.
    """

    longest_run: int
    """
    At least 0.
    """

    response_sd: float
    """
    At least 0.
    """

    flags: list[str]


class AuditLine(Model):
    """
    A line of the audit trail: actor, action, address and outcome.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    month: str
    seq: int
    """
    At least 1.
    """

    at: AwareDatetime
    """
    RFC 3339.
    """

    actor: AuditActor
    address: str | None = None
    request_id: str | None = None
    action: str
    target: str | None = None
    outcome: str
    of: str | None = None
    before: dict[str, JsonValue] | None = None
    after: dict[str, JsonValue] | None = None


class BatchObservation(Model):
    """
    An observation of a batch, with an optional idempotency key.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    mode_target: ModeTarget
    signal_strength: float
    """
    Intensity. 0 to 1.
    """

    confidence: float | None = None
    """
    Certainty. 0 to 1; default 1.
    """

    context: dict[str, Any] | None = None
    """
    Arbitrary metadata of at most 8192 bytes of JSON and 16 levels, including the object itself. The key `__proto__` is refused at every level, and `prototype` within `constructor`.
    """

    timestamp: AwareDatetime | None = None
    """
    Time of the observation (RFC 3339), at least 1.000 s after the previous. Default: now. At most 35 characters; RFC 3339.
    """

    idempotency_key: str | None = None
    """
    Like the header `Idempotency-Key` of a single call. An observation with a known key is reported as `replayed` and not applied again. 1 to 255 characters; pattern ^[!-~](?:[ -~]*[!-~])?$.
    """


class ChangeWebhook(Model):
    """
    The body of a change of a webhook endpoint.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    url: str | None = None
    """
    1 to 2048 characters.
    """

    description: str | None = None
    """
    0 to 200 characters.
    """

    event_types: list[EventType] | None = None
    """
    1 to 9 items.
    """

    max_batch: int | None = None
    """
    Maximum number of changes in one message. 1 to 100.
    """

    is_paused: bool | None = None
    """
    `false` resumes an endpoint that was paused.
    """


class CreateWebhook(Model):
    """
    The body of a create of a webhook endpoint.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    url: str
    """
    1 to 2048 characters.
    """

    description: str | None = None
    """
    0 to 200 characters; default "".
    """

    event_types: list[EventType] | None = None
    """
    Default: all types except `contract_changed` and `mode_changed`. 1 to 9 items.
    """

    max_batch: int | None = None
    """
    Maximum number of changes in one message. 1 to 100; default 1.
    """


class CurrentSnapshot(Model):
    """
    The state after the last cycle, with times of the instance.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    instance_id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    cycle: int
    """
    At least 0.
    """

    mode_strengths: ModeStrengths
    energy_level: float
    """
    0 to 1.
    """

    stress_state: StressState
    stability_index: float
    """
    0 to 1.
    """

    cycle_count: int
    """
    At least 0.
    """

    created_at: AwareDatetime
    """
    RFC 3339.
    """

    updated_at: AwareDatetime
    """
    RFC 3339.
    """

    set_point: ModeStrengths | None = None


class DecisionStyle(Model):
    """
    Recommended decision style of the agent now.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    tempo: Tempo
    risk: Risk
    expressiveness: Expressiveness
    commitment_threshold: CommitmentThreshold


class ErrorDetails(Model):
    """
    Details of a refusal.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    field: str | None = None
    reason: ErrorReason | None = None
    alias: str | None = None
    """
    Always "rate_limit_exceeded".
    """

    mode: ModeKey | None = None
    first_cycle: int | None = None
    """
    At least 0.
    """

    request_id: str | None = None
    """
    Pattern ^[A-Za-z0-9._-]{8,64}$.
    """


class FleetCounts(Model):
    """
    Counts of the instances of an account, and its newest events.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    total: int
    """
    Number of instances. At least 0.
    """

    stress_states: StressStateCounts
    drift_levels: DriftLevelCounts
    dominant_modes: DominantModeCounts
    unknown: int
    """
    Instances that are in `total` only: created within the last seconds, or with a damaged state. At least 0.
    """

    tags: list[TagCount]
    """
    The most frequent tags, at most 100.
    """

    different_tags: int
    """
    Number of different tags. At least 0.
    """

    recent_events: list[AccountEvent]
    """
    Newest events of the account, newest first, at most 20. Without frequent types.
    """

    as_of: AsOf


class FleetObservation(Model):
    """
    An observation of a fleet call, with the id of its instance.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    instance_id: str
    """
    Id of the instance. At most 64 characters.
    """

    mode_target: ModeTarget
    signal_strength: float
    """
    Intensity. 0 to 1.
    """

    confidence: float | None = None
    """
    Certainty. 0 to 1; default 1.
    """

    context: dict[str, Any] | None = None
    """
    Arbitrary metadata of at most 8192 bytes of JSON and 16 levels, including the object itself. The key `__proto__` is refused at every level, and `prototype` within `constructor`.
    """

    timestamp: AwareDatetime | None = None
    """
    Time of the observation (RFC 3339), at least 1.000 s after the previous. Default: now. At most 35 characters; RFC 3339.
    """

    idempotency_key: str | None = None
    """
    Like the header `Idempotency-Key` of a single call. An observation with a known key is reported as `replayed` and not applied again. 1 to 255 characters; pattern ^[!-~](?:[ -~]*[!-~])?$.
    """


class HistoryRecord(Model):
    """
    A processed observation as the service stores it.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    cycle: int
    """
    At least 1.
    """

    mode_target: OpenModeTarget
    signal_strength: float
    """
    0 to 1.
    """

    confidence: float
    """
    0 to 1.
    """

    context: dict[str, Any]
    timestamp: AwareDatetime
    """
    RFC 3339.
    """

    generation: int | None = None
    """
    If `generation=all`. At least 1.
    """


class InitialConfig(Model):
    """
    The initial state of an instance.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    mode_strengths: InitialModeStrengths | None = None
    energy_level: float | None = None
    """
    0 to 1; default 0.8.
    """


class Instance(Model):
    """
    An instance with its current state.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    name: str
    description: str
    tags: dict[str, str] | None = None
    """
    Tags of the instance. Absent in release 1.0.
    """

    created_at: AwareDatetime
    """
    RFC 3339.
    """

    updated_at: AwareDatetime
    """
    RFC 3339.
    """

    cycle_count: int
    """
    At least 0.
    """

    energy_level: float
    """
    0 to 1.
    """

    stress_state: StressState
    stability_index: float
    """
    0 to 1.
    """

    model_version: str | None = None
    """
    Version of the model that advances the instance. Absent in release 1.0.
    """


class ItemResult(Model):
    """
    Outcome of one observation in a batch with keys.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    index: int
    """
    Index of the item in `observations`. At least 0.
    """

    status: ItemStatus


class KeyDescription(Model):
    """
    The key of this request.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^key_[0-9a-f]{16}$.
    """

    scope: KeyScope
    expires_at: AwareDatetime | None
    """
    `null`: never.
    """


class ListedInstance(Model):
    """
    An instance as shown in lists.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    name: str
    description: str
    tags: dict[str, str] | None = None
    """
    Tags of the instance. Absent in release 1.0.
    """

    created_at: AwareDatetime
    """
    RFC 3339.
    """

    cycle_count: int
    """
    At least 0.
    """

    energy_level: float
    """
    0 to 1.
    """

    stress_state: StressState | None = None
    drift_level: DriftLevel | None = None
    dominant_mode: DominantMode | None = None
    changed_at: AwareDatetime | None = None
    """
    Time of the newest event of the instance, except `contract_changed` and `mode_changed`. RFC 3339.
    """


class ModeDeviation(Model):
    """
    The departure of one mode, in standard deviations, and its share.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    mode: ModeKey
    z: float
    contribution: float


class NearestPersona(Model):
    """
    A persona and its distance.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: PersonaId
    distance: float
    """
    At least 0.
    """

    fit: float
    """
    0 to 1.
    """


class Persona(Model):
    """
    A reference persona as shown in lists.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: PersonaId
    name: str
    archetype: str
    description: str
    mode_profile: ModeStrengths
    core_values: list[str]
    decision_style: DecisionStyle


class Plan(Model):
    """
    The limits of a plan.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    name: PlanName
    requests_per_minute: int
    """
    At least 0.
    """

    cycles_per_month: int
    """
    At least 0.
    """

    instances_max: int
    """
    Maximum number of instances. At least 0.
    """


class ResetDone(Model):
    """
    The answer to a reset.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    reset_to: OpenResetMode
    cycle: int
    """
    At least 0.
    """

    energy_level: float
    """
    0 to 1.
    """

    stress_state: StressState


class ResetInstance(Model):
    """
    The body of a reset.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    mode: ResetMode


class Snapshot(Model):
    """
    The state of an instance after a cycle.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    instance_id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    cycle: int
    """
    At least 0.
    """

    mode_strengths: ModeStrengths
    energy_level: float
    """
    0 to 1.
    """

    stress_state: StressState
    stability_index: float
    """
    0 to 1.
    """


class StressRecovery(Model):
    """
    Recovery of a persona from stress; the half-life is in minutes.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    preferred_path: RecoveryPath
    half_life_minutes: float
    support_required_at: StressState
    cooldown_required_at: StressState


class Submission(Model):
    """
    The body of a submitted test.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    version: str | None = None
    """
    Always "1.0".
    """

    answers: list[TestAnswer]
    """
    At most 35 items.
    """


class TestResult(Model):
    """
    The result of the personality test.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    version: str
    mode_strengths: ModeStrengths
    scores: ModeScores
    dominant_modes: list[ModeName]
    nearest_personas: list[NearestPersona]
    """
    3 items.
    """

    composite: Composite | None
    initial_config: SuggestedConfig
    quality: AnswerQuality


class Webhook(Model):
    """
    A webhook endpoint: an address that gets the events of the account.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    """
    Pattern ^whk_[0-9a-f]{16}$.
    """

    url: str
    description: str
    event_types: list[OpenEventType]
    max_batch: int
    """
    At least 0.
    """

    paused: WebhookPause | None
    """
    Why nothing is sent: a request, three days of failures, or status 410.
    """

    failing_since: AwareDatetime | None
    """
    First failure since the last success.
    """

    changes_behind: int
    """
    Changes after the position of the endpoint, and changes that wait for another attempt. At least 0.
    """

    changes_failed: int
    """
    Changes that were given up, at most 200. At least 0.
    """

    old_secret_until: AwareDatetime | None
    """
    End of the overlap after a rotation.
    """

    created_at: AwareDatetime
    """
    RFC 3339.
    """


class WebhookAttempt(Model):
    """
    An attempt to deliver a message to a webhook endpoint.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    message_id: str
    """
    Header `webhook-id`, the same in every attempt.
    """

    attempted_at: AwareDatetime
    """
    RFC 3339.
    """

    duration_ms: int
    """
    At least 0.
    """

    events: int
    """
    At least 0.
    """

    positions: list[int] | None = None
    """
    Positions of the changes in the log of the account, for a redelivery.
    """

    failure: str | None
    """
    `null`: delivered. Otherwise such as `status 500`.
    """

    request: WebhookRequest | None = None
    response: WebhookResponse | None = None


class WebhookDeliveries(Model):
    """
    Last attempts of a webhook endpoint, and its failed changes.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    attempts: list[WebhookAttempt]
    """
    At most 100 attempts of this node, newest first.
    """

    failed: list[FailedChange]
    """
    Changes that were given up, newest first.
    """


class Account(Model):
    """
    The account of a key, with its usage including the present request.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    plan: Plan
    usage: Usage
    key: KeyDescription
    webhooks: WebhookCounts | None = None
    """
    Number of webhook endpoints. `null`: unknown at present. Absent in release 1.0.
    """


class Batch(Model):
    """
    The body of a batch.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    observations: list[BatchObservation]
    """
    1 to 100 items.
    """

    include_intermediate: bool | None = None
    """
    Default false.
    """


class Contract(PromptedModel):
    """
    Actions that the agent should and should not take now (interface 2.6).
    """

    model_config = ConfigDict(
        extra="allow",
    )
    dominant_modes: list[ModeName]
    suppressed_modes: list[ModeName]
    allowed_actions: list[Action]
    forbidden_actions: list[Action]
    decision_style: DecisionStyle
    energy_level: float
    """
    0 to 1.
    """

    stress_state: StressState
    recovery_profile: RecoveryProfile
    prompt: str | None = None
    """
    The contract as text for a language model. Only in `GET …/contract` with `prompt=true`.
    """


class CreateInstance(Model):
    """
    The body of a create.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    name: str
    """
    1 to 100 characters.
    """

    description: str | None = None
    """
    0 to 2000 characters; default "".
    """

    tags: dict[str, str] | None = None
    """
    At most 16 tags. A key has 1 to 64 characters, a value up to 256. Default {}.
    """

    initial_config: InitialConfig | None = None


class Deviation(Model):
    """
    Distance of the behaviour from normal behaviour, by mode (model 3.6).
    """

    model_config = ConfigDict(
        extra="allow",
    )
    description: str
    reason: DriftReason
    distance: float
    """
    At least 0.
    """

    t2: float
    """
    At least 0.
    """

    p_value: float
    """
    0 to 1.
    """

    breach: float
    """
    At least 0.
    """

    run: int
    """
    At least 0.
    """

    sustained: SustainedShift
    modes: list[ModeDeviation]
    """
    7 items.
    """

    nearest_persona: PersonaId | None
    composite: Composite | None


class Drift(Model):
    """
    The classification of the last observation.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    level: DriftLevel
    deviation: Deviation


class DriftEvent(Model):
    """
    A cycle whose drift level is not D0.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    cycle: int
    """
    At least 1.
    """

    drift_level: DriftEventLevel
    deviation: Deviation
    affected_modes: list[ModeKey]
    """
    At least 1 items.
    """

    rolled_back: bool
    timestamp: AwareDatetime
    """
    RFC 3339.
    """

    generation: int | None = None
    """
    If `generation=all`. At least 1.
    """


class Error(Model):
    """
    The body of a refusal.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    error: ErrorCode
    message: str
    retry_after: int | None = None
    """
    Seconds; on 429. At least 1.
    """

    details: ErrorDetails | None = None


class Fleet(Model):
    """
    Observations of many instances.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    observations: list[FleetObservation]
    """
    1 to 1000 items.
    """

    include_state: bool | None = None
    """
    Default false.
    """


class FleetResult(Model):
    """
    Result of one observation in a fleet call.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    index: int
    """
    Index of the observation in `observations`. At least 0.
    """

    instance_id: str | None = None
    idempotency_key: str | None = None
    status: FleetStatus
    cycle: int | None = None
    """
    Cycle of the instance. Only with a state. At least 0.
    """

    stress_state: StressState | None = None
    drift_level: DriftLevel | None = None
    allowed_actions: list[Action] | None = None
    forbidden_actions: list[Action] | None = None
    snapshot: Snapshot | None = None
    contract: Contract | None = None
    drift: Drift | None = None
    retry: RetryAdvice | None = None
    retry_after: int | None = None
    """
    Wait before a retry, in seconds. At least 0.
    """

    http_status: int | None = None
    """
    Status that a single call would get.
    """

    refusal: FleetRefusal | None = None


class PastState(Model):
    """
    State, contract and drift after a past cycle.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    cycle: int
    """
    At least 0.
    """

    timestamp: AwareDatetime | None
    """
    Time of the last observation. `null` at cycle 0.
    """

    model_version: str
    snapshot: Snapshot
    contract: Contract
    drift: Drift


class PastStates(Model):
    """
    Past states of an instance.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    instance_id: str
    """
    Pattern ^inst_[0-9a-f]{16}$.
    """

    generation: int
    """
    At least 1.
    """

    states: list[PastState]


class PersonaDetail(Model):
    """
    A reference persona with all details.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: PersonaId
    name: str
    archetype: str
    description: str
    mode_profile: ModeStrengths
    core_values: list[str]
    decision_style: DecisionStyle
    long_description: str
    preferred_actions: list[Action]
    stress_recovery: StressRecovery


class Processed(Model):
    """
    State, contract and drift after an observation.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    snapshot: Snapshot
    contract: Contract
    drift: Drift


class ProcessedFleet(Model):
    """
    Answer to a fleet call.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    summary: FleetSummary
    results: list[FleetResult]
    """
    One entry per observation, in input order.
    """


class StateEventData(Model):
    """
    The state. Sent first, and after the newest cycle, rename or reset.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    snapshot: Snapshot
    contract: Contract
    drift: Drift
    set_point: ModeStrengths | None = None
    last_stable: ModeStrengths | None = None


class States(Model):
    """
    The state after each of several observations.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    states: list[Processed]
    processed_count: int
    """
    At least 0.
    """


class BatchProcessed(Model):
    """
    The state after a batch, and the number of applied observations.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    snapshot: Snapshot
    contract: Contract
    drift: Drift
    processed_count: int
    """
    Number of observations that this call applied. At least 0.
    """

    results: list[ItemResult] | None = None
    """
    One entry per item, in input order. Only if an item has an `idempotency_key`.
    """


class BatchStates(Model):
    """
    The state after each observation of an applied batch.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    states: list[Processed]
    processed_count: int
    """
    Number of observations that this call applied. At least 0.
    """

    results: list[ItemResult] | None = None
    """
    One entry per item, in input order. Only if an item has an `idempotency_key`.
    """


class CycleEventData(Model):
    """
    A processed observation, once durable. The `id` of the event is its ordinal.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    observation: HistoryRecord
    drift: DriftEvent | None
    """
    The drift event of the observation; null at level D0.
    """


BatchResult = TypeAliasType("BatchResult", BatchProcessed | BatchStates)
