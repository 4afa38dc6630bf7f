"""Client of the Identity Engine: stateful personalities for software agents.

``AsyncIdentityEngine`` is for programs with an event loop; ``IdentityEngine`` has the same methods
for other programs. ``identity_engine.models`` has the data types, ``identity_engine.errors`` the
exceptions.
"""

from identity_engine import actions, errors, models
from identity_engine._agent.appraiser import (
    APPRAISAL_INSTRUCTIONS,
    APPRAISAL_RULES,
    APPRAISAL_SCHEMA,
    Appraisal,
    AppraisalRule,
    AppraisalRules,
    Appraiser,
    AsyncAppraiser,
    ToolOutcome,
    ToolUse,
    Turn,
    TurnOutcome,
    checked_appraisal,
    rule_appraiser,
)
from identity_engine._agent.contract_prompt import (
    WORDING,
    Wording,
    WordingChanges,
    contract_prompt,
    wording_with,
)
from identity_engine._agent.outcome import outcome_of
from identity_engine._agent.tool_policy import ToolActions, ToolMode, ToolPolicy
from identity_engine._async.account_events import AsyncAccountEventStream
from identity_engine._async.agent import AsyncAgent, AsyncAgentTurn
from identity_engine._async.client import AsyncIdentityEngine
from identity_engine._async.events import AsyncEventStream
from identity_engine._async.guard import AsyncContractGuard
from identity_engine._async.instance import AsyncInstanceHandle
from identity_engine._async.page import AsyncPage
from identity_engine._buffer.async_buffer import AsyncObservationBuffer
from identity_engine._buffer.batch import UnacknowledgedBatch
from identity_engine._buffer.options import (
    Acknowledged,
    BufferClosed,
    Rejected,
    ThrottledObservation,
)
from identity_engine._buffer.spool import (
    FileSpool,
    SpooledDone,
    SpooledObservation,
    SpoolStore,
)
from identity_engine._buffer.sync_buffer import ObservationBuffer
from identity_engine._core.attempt_event import AttemptEvent
from identity_engine._core.raw_request import RequestMethod
from identity_engine._core.uuid7 import uuid7
from identity_engine._sync.account_events import AccountEventStream
from identity_engine._sync.agent import Agent, AgentTurn
from identity_engine._sync.client import IdentityEngine
from identity_engine._sync.events import EventStream
from identity_engine._sync.guard import ContractGuard
from identity_engine._sync.instance import InstanceHandle
from identity_engine._sync.page import Page
from identity_engine._version import __version__
from identity_engine.actions import ACTIONS, KnownAction, is_known_action
from identity_engine.errors import (
    ActionForbiddenError,
    ApiError,
    AppraisalError,
    BillingProviderNotConfiguredError,
    BufferClosedError,
    ClientClosedError,
    ConfigurationError,
    ConflictError,
    ConnectionError,
    DeadlineError,
    ForbiddenError,
    IdentityEngineError,
    InternalServerError,
    InvalidPlanError,
    InvalidRequestError,
    MalformedAnswerError,
    NoContractError,
    NotFoundError,
    QuotaExceededError,
    RateLimitedError,
    ServiceUnavailableError,
    SpoolError,
    StaleContractError,
    ThrottledError,
    ToolMapError,
    UnauthorizedError,
    UnknownActionError,
    WebhookVerificationFailedError,
)
from identity_engine.events import (
    CycleEvent,
    DeletedEvent,
    Event,
    Followed,
    FollowedEvent,
    FollowedGap,
    GapEvent,
    ResetEvent,
    StateEvent,
    UnknownEvent,
)
from identity_engine.models import Observation
from identity_engine.results import (
    Headers,
    Limits,
    NotModified,
    Observed,
    PageInfo,
    Requested,
    RequestLimit,
    Result,
    Throttled,
)

__all__ = [
    "ACTIONS",
    "APPRAISAL_INSTRUCTIONS",
    "APPRAISAL_RULES",
    "APPRAISAL_SCHEMA",
    "WORDING",
    "AccountEventStream",
    "Acknowledged",
    "ActionForbiddenError",
    "Agent",
    "AgentTurn",
    "ApiError",
    "Appraisal",
    "AppraisalError",
    "AppraisalRule",
    "AppraisalRules",
    "Appraiser",
    "AsyncAccountEventStream",
    "AsyncAgent",
    "AsyncAgentTurn",
    "AsyncAppraiser",
    "AsyncContractGuard",
    "AsyncEventStream",
    "AsyncIdentityEngine",
    "AsyncInstanceHandle",
    "AsyncObservationBuffer",
    "AsyncPage",
    "AttemptEvent",
    "BillingProviderNotConfiguredError",
    "BufferClosed",
    "BufferClosedError",
    "ClientClosedError",
    "ConfigurationError",
    "ConflictError",
    "ConnectionError",
    "ContractGuard",
    "CycleEvent",
    "DeadlineError",
    "DeletedEvent",
    "Event",
    "EventStream",
    "FileSpool",
    "Followed",
    "FollowedEvent",
    "FollowedGap",
    "ForbiddenError",
    "GapEvent",
    "Headers",
    "IdentityEngine",
    "IdentityEngineError",
    "InstanceHandle",
    "InternalServerError",
    "InvalidPlanError",
    "InvalidRequestError",
    "KnownAction",
    "Limits",
    "MalformedAnswerError",
    "NoContractError",
    "NotFoundError",
    "NotModified",
    "Observation",
    "ObservationBuffer",
    "Observed",
    "Page",
    "PageInfo",
    "QuotaExceededError",
    "RateLimitedError",
    "Rejected",
    "RequestLimit",
    "RequestMethod",
    "Requested",
    "ResetEvent",
    "Result",
    "ServiceUnavailableError",
    "SpoolError",
    "SpoolStore",
    "SpooledDone",
    "SpooledObservation",
    "StaleContractError",
    "StateEvent",
    "Throttled",
    "ThrottledError",
    "ThrottledObservation",
    "ToolActions",
    "ToolMapError",
    "ToolMode",
    "ToolOutcome",
    "ToolPolicy",
    "ToolUse",
    "Turn",
    "TurnOutcome",
    "UnacknowledgedBatch",
    "UnauthorizedError",
    "UnknownActionError",
    "UnknownEvent",
    "WebhookVerificationFailedError",
    "Wording",
    "WordingChanges",
    "__version__",
    "actions",
    "checked_appraisal",
    "contract_prompt",
    "errors",
    "is_known_action",
    "models",
    "outcome_of",
    "rule_appraiser",
    "uuid7",
    "wording_with",
]
