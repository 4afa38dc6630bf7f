/* All exports of the package `identity-engine`. */
// biome-ignore lint/performance/noBarrelFile: this is the one entry of the package.
export { ACTIONS, isKnownAction, type KnownAction, UnknownActionError } from './actions.ts';
export {
  Agent,
  type AgentOptions,
  type AgentTurn,
  type TurnEnd,
  type TurnStart,
} from './agent/agent.ts';
export {
  APPRAISAL_INSTRUCTIONS,
  APPRAISAL_RULES,
  APPRAISAL_SCHEMA,
  type Appraisal,
  AppraisalError,
  type AppraisalRule,
  type Appraiser,
  checkedAppraisal,
  ruleAppraiser,
  type ToolOutcome,
  type ToolUse,
  type Turn,
  type TurnOutcome,
} from './agent/appraiser.ts';
export {
  contractPrompt as toPrompt,
  type Phrases,
  type PromptedContract,
  WORDING,
  type Wording,
  type WordingChanges,
  wordingWith,
} from './agent/contract-prompt.ts';
export { outcomeOf } from './agent/outcome.ts';
export {
  type ToolActions,
  ToolMapError,
  type ToolMode,
  ToolPolicy,
  type ToolPolicyOptions,
} from './agent/tool-policy.ts';
export type { Fetch, FetchAnswer, FetchBody, FetchRequest } from './calls/attempt.ts';
export type { AttemptEvent } from './calls/attempt-event.ts';
export type { RequestMethod } from './calls/call.ts';
export type {
  CallOptions,
  ConditionalOptions,
  GuardedOptions,
  KeyedOptions,
  ProcessOptions,
  ResetOptions,
} from './calls/call-options.ts';
export type { Limits } from './calls/limits.ts';
export type { RequestOptions, RequestResult } from './calls/raw-request.ts';
export type { ExtraHeaders } from './calls/request-headers.ts';
export { IdentityEngine } from './client.ts';
export type { ClientOptions } from './client-options.ts';
export {
  ApiError,
  BillingProviderNotConfiguredError,
  ConflictError,
  ConnectionError,
  DeadlineError,
  type ErrorFacts,
  ForbiddenError,
  IdentityEngineError,
  InternalServerError,
  InvalidPlanError,
  InvalidRequestError,
  MalformedAnswerError,
  NotFoundError,
  QuotaExceededError,
  RateLimitedError,
  type Refusal,
  ServiceUnavailableError,
  ThrottledError,
  UnauthorizedError,
  WebhookVerificationFailedError,
} from './errors.ts';
export type {
  AccountEventStream,
  Followed,
  FollowedEvent,
  FollowedGap,
  FollowOptions,
} from './events/account-event-stream.ts';
export type { EventStream, EventsOptions } from './events/event-stream.ts';
export type { InstanceEvent } from './events/instance-event.ts';
export {
  ActionForbiddenError,
  type ContractGuard,
  type GuardOptions,
  NoContractError,
  StaleContractError,
  type Verdict,
} from './guard.ts';
export type { Integers } from './json.ts';
export type * from './models.ts';
export { BufferClosedError } from './observation-buffer/backlog.ts';
export type { TimestampFrom } from './observation-buffer/batch.ts';
export type { BufferClock } from './observation-buffer/buffer-clock.ts';
export type {
  AcknowledgedBatch,
  BufferOptions,
  CloseResult,
  RejectedObservation,
  ThrottledObservation,
  UnacknowledgedBatch,
} from './observation-buffer/buffer-types.ts';
export { ObservationBuffer } from './observation-buffer/observation-buffer.ts';
export { type Spool, type SpoolEntry, SpoolError } from './observation-buffer/spool.ts';
export type { Page } from './pages.ts';
export type { AccountResource } from './resources/account.ts';
export type { Audit } from './resources/audit.ts';
export type { Billing } from './resources/billing.ts';
export type { Events, EventsPageQuery } from './resources/events.ts';
export type { FleetOptions } from './resources/fleet.ts';
export type { BatchOptions, InstanceHandle, PastQuery } from './resources/instance-handle.ts';
export type { Instances, InstancesListQuery, InstancesPage } from './resources/instances.ts';
export type { Personas } from './resources/personas.ts';
export type { SubmitOptions, Tests } from './resources/tests.ts';
export type { Webhooks } from './resources/webhooks.ts';
export type { AnswerFacts, NotModified, ProcessResult, Result } from './result.ts';
export { uuid7 } from './uuid7.ts';
export { VERSION } from './version.ts';
