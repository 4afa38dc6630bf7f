/*
 * What the service takes and answers, with the names of the wire. Made by models/write-models.ts from
 * clients/models/models.json; not to be edited.
 */

/** A later release may return other values. */
export type PlanName = 'free' | 'indie' | 'pro' | 'enterprise' | (string & {});
/** A later release may return other values. */
export type KeyScope =
  | 'full'
  | 'read'
  | 'audit'
  | 'billing'
  | 'full audit'
  | 'full billing'
  | 'full audit billing'
  | 'read audit'
  | 'read billing'
  | 'read audit billing'
  | 'audit billing'
  | (string & {});
/** A later release may return other values. */
export type Action =
  | 'explore'
  | 'question'
  | 'elaborate'
  | 'suggest'
  | 'execute'
  | 'pivot'
  | 'challenge'
  | 'comfort'
  | 'clarify'
  | 'stabilize'
  | 'defer'
  | 'withdraw'
  | (string & {});
/** A later release may return other values. */
export type ActorKind =
  'key' | 'user' | 'operator' | 'provider' | 'service' | 'anonymous' | (string & {});
/** A later release may return other values. */
export type QualityVerdict = 'ok' | 'caution' | 'invalid' | (string & {});
/** Any JSON value. */
export type JsonValue = unknown;
export type AuditOutcome =
  | 'begun'
  | 'done'
  | 'repeated'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'invalid_request'
  | 'conflict'
  | 'throttled'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'service_unavailable'
  | 'internal'
  | 'billing_provider_not_configured'
  | 'webhook_verification_failed'
  | 'invalid_plan';
export type ModeTarget =
  | 'PERCEPTION'
  | 'EXPLORATION'
  | 'ORDER'
  | 'ASSERTION'
  | 'CONNECTION'
  | 'IDENTITY'
  | 'STRESS_RESPONSE';
/** A later release may return other values. */
export type StressState = 'LOW' | 'MED' | 'HIGH' | 'OVER' | (string & {});
/** A later release may return other values. */
export type ModeName =
  | 'Perception'
  | 'Exploration'
  | 'Order'
  | 'Assertion'
  | 'Connection'
  | 'Identity'
  | 'Stress_Response'
  | (string & {});
/** A later release may return other values. */
export type Tempo = 'slow' | 'measured' | 'brisk' | 'rapid' | 'paused' | (string & {});
/** A later release may return other values. */
export type Risk = 'avoidant' | 'cautious' | 'balanced' | 'bold' | (string & {});
/** A later release may return other values. */
export type Expressiveness = 'minimal' | 'low' | 'medium' | 'high' | (string & {});
/** A later release may return other values. */
export type CommitmentThreshold = 'low' | 'medium' | 'high' | 'very_high' | (string & {});
/** A later release may return other values. */
export type RecoveryPath =
  | 'none'
  | 'rest'
  | 'disengagement'
  | 'structuring'
  | 'support_seeking'
  | 'reappraisal'
  | 'problem_solving'
  | (string & {});
/** A later release may return other values. */
export type DriftLevel = 'D0' | 'D1' | 'D2' | 'D3' | (string & {});
/** A later release may return other values. */
export type DriftReason =
  'within_band' | 'situational_departure' | 'sustained_shift' | 'identity_breach' | (string & {});
/** A later release may return other values. */
export type ModeKey =
  | 'perception'
  | 'exploration'
  | 'order'
  | 'assertion'
  | 'connection'
  | 'identity'
  | 'stress_response'
  | (string & {});
/** A later release may return other values. */
export type ShiftDirection = 'up' | 'down' | (string & {});
/** A later release may return other values. */
export type PersonaId =
  | 'persona_analytical'
  | 'persona_creative'
  | 'persona_leader'
  | 'persona_supporter'
  | 'persona_explorer'
  | 'persona_guardian'
  | 'persona_philosopher'
  | 'persona_performer'
  | 'persona_scholar'
  | 'persona_diplomat'
  | 'persona_pioneer'
  | 'persona_catalyst'
  | (string & {});
/** A later release may return other values. */
export type Composite =
  | 'knowledge_focused_relationship_aware'
  | 'visionary_leader'
  | 'safe_adventurer'
  | 'principled_caregiver'
  | (string & {});
/** A later release may return other values. */
export type ItemStatus = 'applied' | 'replayed' | 'throttled' | (string & {});
export type BatchResult = BatchProcessed | BatchStates;
/** A later release may return other values. */
export type OpenModeTarget =
  | 'PERCEPTION'
  | 'EXPLORATION'
  | 'ORDER'
  | 'ASSERTION'
  | 'CONNECTION'
  | 'IDENTITY'
  | 'STRESS_RESPONSE'
  | (string & {});
/** A later release may return other values. */
export type DriftEventLevel = 'D1' | 'D2' | 'D3' | (string & {});
export type GenerationChoice = 'current' | 'all';
/** A later release may return other values. */
export type ErrorCode =
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'invalid_request'
  | 'conflict'
  | 'throttled'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'service_unavailable'
  | 'internal'
  | 'billing_provider_not_configured'
  | 'webhook_verification_failed'
  | 'invalid_plan'
  | (string & {});
/** A later release may return other values. */
export type ErrorReason =
  | 'malformed_json'
  | 'duplicate_key'
  | 'invalid_utf8'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'missing_field'
  | 'unknown_field'
  | 'wrong_type'
  | 'out_of_range'
  | 'unknown_value'
  | 'too_short'
  | 'too_long'
  | 'too_deep'
  | 'invalid_text'
  | 'invalid_timestamp'
  | 'timestamp_in_future'
  | 'timestamp_order'
  | 'timestamps_mixed'
  | 'unknown_question'
  | 'duplicate_question'
  | 'too_few_answers'
  | 'idempotency_key_reused'
  | 'invalid_parameter'
  | 'unknown_parameter'
  | 'invalid_header'
  | 'malformed_request'
  | 'request_timeout'
  | 'uri_too_long'
  | 'expectation_failed'
  | 'headers_too_large'
  | 'http_version_not_supported'
  | 'address_not_allowed'
  | 'read_only_key'
  | 'missing_scope'
  | 'account_suspended'
  | 'instance_limit'
  | 'audit_full'
  | 'too_many_streams'
  | 'version_mismatch'
  | 'already_exists'
  | 'deleted'
  | 'min_cycle_interval'
  | 'limiter_unavailable'
  | 'engine_unavailable'
  | 'audit_unavailable'
  | 'too_many_refused_keys'
  | 'too_many_refused_notifications'
  | 'too_many_unfinished_bodies'
  | 'overloaded'
  | 'billing_unavailable'
  | 'deadline_exceeded'
  | 'outcome_unknown'
  | 'shutting_down'
  | 'upgrade_in_progress'
  | (string & {});
export type InstancesSort = 'created_at' | 'name';
export type SortOrder = 'asc' | 'desc';
/** A later release may return other values. */
export type OpenQuestionId =
  | 'q01'
  | 'q02'
  | 'q03'
  | 'q04'
  | 'q05'
  | 'q06'
  | 'q07'
  | 'q08'
  | 'q09'
  | 'q10'
  | 'q11'
  | 'q12'
  | 'q13'
  | 'q14'
  | 'q15'
  | 'q16'
  | 'q17'
  | 'q18'
  | 'q19'
  | 'q20'
  | 'q21'
  | 'q22'
  | 'q23'
  | 'q24'
  | 'q25'
  | 'q26'
  | 'q27'
  | 'q28'
  | 'q29'
  | 'q30'
  | 'q31'
  | 'q32'
  | 'q33'
  | 'q34'
  | 'q35'
  | (string & {});
/** A later release may return other values. */
export type OpenResetMode = 'initial' | 'default' | (string & {});
export type PersonasVersion = 'v1';
export type QuestionId =
  | 'q01'
  | 'q02'
  | 'q03'
  | 'q04'
  | 'q05'
  | 'q06'
  | 'q07'
  | 'q08'
  | 'q09'
  | 'q10'
  | 'q11'
  | 'q12'
  | 'q13'
  | 'q14'
  | 'q15'
  | 'q16'
  | 'q17'
  | 'q18'
  | 'q19'
  | 'q20'
  | 'q21'
  | 'q22'
  | 'q23'
  | 'q24'
  | 'q25'
  | 'q26'
  | 'q27'
  | 'q28'
  | 'q29'
  | 'q30'
  | 'q31'
  | 'q32'
  | 'q33'
  | 'q34'
  | 'q35';
export type ResetMode = 'initial' | 'default';

export interface Account {
  plan: Plan;
  usage: Usage;
  key: KeyDescription;
  [k: string]: unknown;
}
export interface Plan {
  name: PlanName;
  /** At least 0. */
  requests_per_minute: number;
  /** At least 0. */
  cycles_per_month: number;
  /** Maximum number of instances. At least 0. */
  instances_max: number;
  [k: string]: unknown;
}
export interface Usage {
  minute: MinuteUsage;
  month: MonthUsage;
  [k: string]: unknown;
}
export interface MinuteUsage {
  /** Requests that the plan allows. At least 0. */
  limit: number;
  /** Requests left. At least 0. */
  remaining: number;
  /** Start of the next period, in Unix seconds. At least 0. */
  reset: number;
  [k: string]: unknown;
}
export interface MonthUsage {
  /** Cycles that the plan allows. At least 0. */
  limit: number;
  /** Cycles left. At least 0. */
  remaining: number;
  /** Start of the next period, in Unix seconds. At least 0. */
  reset: number;
  [k: string]: unknown;
}
/** The key of this request. */
export interface KeyDescription {
  /** Pattern `^key_[0-9a-f]{16}$`. */
  id: string;
  scope: KeyScope;
  /** `null`: never. */
  expires_at: string | null;
  [k: string]: unknown;
}
export interface AnswerQuality {
  verdict: QualityVerdict;
  /** 0 to 1. */
  consistency: number;
  /** -2 to 2. */
  acquiescence: number;
  /** At least 0. */
  longest_run: number;
  /** At least 0. */
  response_sd: number;
  flags: string[];
  [k: string]: unknown;
}
export interface AnswerScale {
  min: number;
  max: number;
  labels: string[];
  [k: string]: unknown;
}
export interface AuditActor {
  kind: ActorKind;
  /** 1 to 128 characters. */
  id?: string;
  /** 1 to 128 characters. */
  session?: string;
  /** 1 to 128 characters. */
  name?: string;
  [k: string]: unknown;
}
export interface AuditLine {
  month: string;
  /** At least 1. */
  seq: number;
  /** RFC 3339. */
  at: string;
  actor: AuditActor;
  address?: string;
  request_id?: string;
  action: string;
  target?: string;
  outcome: string;
  of?: string;
  before?: {
    [k: string]: JsonValue;
  };
  after?: {
    [k: string]: JsonValue;
  };
  [k: string]: unknown;
}
export interface AuditQuery {
  /** Maximum number of entries on the page. 1 to 100; default 20. */
  limit?: number;
  /**
   * Start of the page: `next_cursor` of the previous page. Pattern `^(\d{4}-\d{2})\.(\d{1,15})$`.
   */
  cursor?: string;
  /**
   * Action, or its first words: `key` matches `key.create` and all other actions on keys. At most 48 characters; pattern `^[a-z]+(?:[._][a-z]+)*\.?$`.
   */
  action?: string;
  /** Id of the key, user or token that acted. 1 to 128 characters. */
  actor?: string;
  /** Id of the object acted on. 1 to 128 characters. */
  target?: string;
  outcome?: AuditOutcome;
  /** No lines before this time (RFC 3339). RFC 3339. */
  from?: string;
  /** Only lines before this time (RFC 3339). RFC 3339. */
  until?: string;
}
export interface Batch {
  /** 1 to 100 items. */
  observations: BatchObservation[];
  /** Default false. */
  include_intermediate?: boolean;
}
export interface BatchObservation {
  mode_target: ModeTarget;
  /** Intensity. 0 to 1. */
  signal_strength: number;
  /** Certainty. 0 to 1; default 1. */
  confidence?: number;
  /**
   * Arbitrary metadata of at most 8192 bytes of JSON and 16 levels, including the object itself. The key `__proto__` is refused at every level, and `prototype` within `constructor`.
   */
  context?: {
    [k: string]: unknown;
  };
  /**
   * Time of the observation (RFC 3339), at least 1.000 s after the previous. Default: now. At most 35 characters; RFC 3339.
   */
  timestamp?: string;
  /**
   * Like the header `Idempotency-Key` of a single call. An observation with a known key is reported as `replayed` and not applied again. 1 to 255 characters; pattern `^[!-~](?:[ -~]*[!-~])?$`.
   */
  idempotency_key?: string;
}
export interface BatchProcessed {
  snapshot: Snapshot;
  contract: Contract;
  drift: Drift;
  /** Number of observations that this call applied. At least 0. */
  processed_count: number;
  /** One entry per item, in input order. Only if an item has an `idempotency_key`. */
  results?: ItemResult[];
  [k: string]: unknown;
}
export interface Snapshot {
  /** Pattern `^inst_[0-9a-f]{16}$`. */
  instance_id: string;
  /** At least 0. */
  cycle: number;
  mode_strengths: ModeStrengths;
  /** 0 to 1. */
  energy_level: number;
  stress_state: StressState;
  /** 0 to 1. */
  stability_index: number;
  [k: string]: unknown;
}
export interface ModeStrengths {
  /** 0 to 1. */
  perception: number;
  /** 0 to 1. */
  exploration: number;
  /** 0 to 1. */
  order: number;
  /** 0 to 1. */
  assertion: number;
  /** 0 to 1. */
  connection: number;
  /** 0 to 1. */
  identity: number;
  /** 0 to 1. */
  stress_response: number;
  [k: string]: unknown;
}
export interface Contract {
  dominant_modes: ModeName[];
  suppressed_modes: ModeName[];
  allowed_actions: Action[];
  forbidden_actions: Action[];
  decision_style: DecisionStyle;
  /** 0 to 1. */
  energy_level: number;
  stress_state: StressState;
  recovery_profile: RecoveryProfile;
  [k: string]: unknown;
}
export interface DecisionStyle {
  tempo: Tempo;
  risk: Risk;
  expressiveness: Expressiveness;
  commitment_threshold: CommitmentThreshold;
  [k: string]: unknown;
}
export interface RecoveryProfile {
  preferred_path: RecoveryPath;
  support_required: boolean;
  cooldown_required: boolean;
  [k: string]: unknown;
}
export interface Drift {
  level: DriftLevel;
  deviation: Deviation;
  [k: string]: unknown;
}
export interface Deviation {
  description: string;
  reason: DriftReason;
  /** At least 0. */
  distance: number;
  /** At least 0. */
  t2: number;
  /** 0 to 1. */
  p_value: number;
  /** At least 0. */
  breach: number;
  /** At least 0. */
  run: number;
  sustained: SustainedShift;
  /** 7 items. */
  modes: ModeDeviation[];
  nearest_persona: PersonaId | null;
  composite: Composite | null;
  [k: string]: unknown;
}
export interface SustainedShift {
  /** At least 0. */
  statistic: number;
  limit: number;
  mode: ModeKey | null;
  direction: ShiftDirection | null;
  [k: string]: unknown;
}
export interface ModeDeviation {
  mode: ModeKey;
  z: number;
  contribution: number;
  [k: string]: unknown;
}
export interface ItemResult {
  /** Index of the item in `observations`. At least 0. */
  index: number;
  status: ItemStatus;
  [k: string]: unknown;
}
export interface BatchStates {
  states: Processed[];
  /** Number of observations that this call applied. At least 0. */
  processed_count: number;
  /** One entry per item, in input order. Only if an item has an `idempotency_key`. */
  results?: ItemResult[];
  [k: string]: unknown;
}
export interface Processed {
  snapshot: Snapshot;
  contract: Contract;
  drift: Drift;
  [k: string]: unknown;
}
export interface BillingPage {
  /** URL of a page of the payment provider. */
  url: string;
  [k: string]: unknown;
}
export interface Checkout {
  /** `indie` or `pro`. At most 64 characters. */
  plan: string;
  /**
   * An https URL without a user name. http is allowed only for this machine. At most 2048 characters.
   */
  success_url: string;
  /**
   * An https URL without a user name. http is allowed only for this machine. At most 2048 characters.
   */
  cancel_url: string;
}
export interface CreateInstance {
  /** 1 to 100 characters. */
  name: string;
  /** 0 to 2000 characters; default "". */
  description?: string;
  initial_config?: InitialConfig;
}
export interface InitialConfig {
  mode_strengths?: InitialModeStrengths;
  /** 0 to 1; default 0.8. */
  energy_level?: number;
}
/** Missing keys are 0. */
export interface InitialModeStrengths {
  /** 0 to 1. */
  perception?: number;
  /** 0 to 1. */
  exploration?: number;
  /** 0 to 1. */
  order?: number;
  /** 0 to 1. */
  assertion?: number;
  /** 0 to 1. */
  connection?: number;
  /** 0 to 1. */
  identity?: number;
  /** 0 to 1. */
  stress_response?: number;
}
export interface CreatedInstance {
  /** Pattern `^inst_[0-9a-f]{16}$`. */
  id: string;
  name: string;
  description: string;
  /** RFC 3339. */
  created_at: string;
  /** RFC 3339. */
  updated_at: string;
  [k: string]: unknown;
}
export interface CurrentSnapshot {
  /** Pattern `^inst_[0-9a-f]{16}$`. */
  instance_id: string;
  /** At least 0. */
  cycle: number;
  mode_strengths: ModeStrengths;
  /** 0 to 1. */
  energy_level: number;
  stress_state: StressState;
  /** 0 to 1. */
  stability_index: number;
  /** At least 0. */
  cycle_count: number;
  /** RFC 3339. */
  created_at: string;
  /** RFC 3339. */
  updated_at: string;
  [k: string]: unknown;
}
export interface CursorPagination {
  /** At least 1. */
  limit: number;
  /** The `cursor` of the next page, also if this page is empty. `null`: no next page. */
  next_cursor: string | null;
  [k: string]: unknown;
}
/** A processed observation, once durable. The `id` of the event is its ordinal. */
export interface CycleEventData {
  observation: HistoryRecord;
  /** The drift event of the observation; null at level D0. */
  drift: DriftEvent | null;
  [k: string]: unknown;
}
export interface HistoryRecord {
  /** At least 1. */
  cycle: number;
  mode_target: OpenModeTarget;
  /** 0 to 1. */
  signal_strength: number;
  /** 0 to 1. */
  confidence: number;
  context: {
    [k: string]: unknown;
  };
  /** RFC 3339. */
  timestamp: string;
  /** If `generation=all`. At least 1. */
  generation?: number;
  [k: string]: unknown;
}
export interface DriftEvent {
  /** At least 1. */
  cycle: number;
  drift_level: DriftEventLevel;
  deviation: Deviation;
  /** At least 1 items. */
  affected_modes: ModeKey[];
  rolled_back: boolean;
  /** RFC 3339. */
  timestamp: string;
  /** If `generation=all`. At least 1. */
  generation?: number;
  [k: string]: unknown;
}
/** The instance was deleted. The stream ends. */
export interface DeletedEventData {
  [k: string]: unknown;
}
export interface DeletedInstance {
  /** Pattern `^inst_[0-9a-f]{16}$`. */
  id: string;
  /** Always true. */
  deleted: boolean;
  [k: string]: unknown;
}
export interface DriftQuery {
  /** Maximum number of entries on the page. 1 to 1000; default 1000. */
  limit?: number;
  /**
   * Number of entries to skip: for the next page, all entries received so far. At least 0; default 0.
   */
  offset?: number;
  /** Start of the page: `next_cursor` of the previous page. 1 to 1024 characters. */
  cursor?: string;
  generation?: GenerationChoice;
}
export interface ErrorBody {
  error: ErrorCode;
  message: string;
  /** Seconds; on 429. At least 1. */
  retry_after?: number;
  details?: ErrorDetails;
  [k: string]: unknown;
}
export interface ErrorDetails {
  field?: string;
  reason?: ErrorReason;
  /** Always "rate_limit_exceeded". */
  alias?: string;
  mode?: ModeKey;
  /** Pattern `^[A-Za-z0-9._-]{8,64}$`. */
  request_id?: string;
  [k: string]: unknown;
}
export interface EventsQuery {
  /** Id of the last event received; 0 for all events. At least 0. */
  after?: number;
}
/** Requested cycles that are no longer stored. */
export interface GapEventData {
  /** Ordinal of an observation. */
  from: number;
  /** Ordinal of an observation. */
  to: number;
  [k: string]: unknown;
}
export interface HistoryQuery {
  /** Maximum number of entries on the page. 1 to 1000; default 100. */
  limit?: number;
  /**
   * Number of entries to skip: for the next page, all entries received so far. At least 0; default 0.
   */
  offset?: number;
  /** Start of the page: `next_cursor` of the previous page. 1 to 1024 characters. */
  cursor?: string;
  generation?: GenerationChoice;
}
export interface Instance {
  /** Pattern `^inst_[0-9a-f]{16}$`. */
  id: string;
  name: string;
  description: string;
  /** RFC 3339. */
  created_at: string;
  /** RFC 3339. */
  updated_at: string;
  /** At least 0. */
  cycle_count: number;
  /** 0 to 1. */
  energy_level: number;
  stress_state: StressState;
  /** 0 to 1. */
  stability_index: number;
  [k: string]: unknown;
}
export interface InstancesQuery {
  /** Maximum number of entries on the page. 1 to 100; default 20. */
  limit?: number;
  /**
   * Number of entries to skip: for the next page, all entries received so far. At least 0; default 0.
   */
  offset?: number;
  /** Start of the page: `next_cursor` of the previous page. 1 to 1024 characters. */
  cursor?: string;
  sort?: InstancesSort;
  order?: SortOrder;
  /**
   * Only instances whose name contains this text, in any case, or whose id equals it. 1 to 64 characters.
   */
  search?: string;
}
export interface ListedInstance {
  /** Pattern `^inst_[0-9a-f]{16}$`. */
  id: string;
  name: string;
  description: string;
  /** RFC 3339. */
  created_at: string;
  /** At least 0. */
  cycle_count: number;
  /** 0 to 1. */
  energy_level: number;
  [k: string]: unknown;
}
export interface ModeScores {
  /** 1 to 5. */
  perception: number;
  /** 1 to 5. */
  exploration: number;
  /** 1 to 5. */
  order: number;
  /** 1 to 5. */
  assertion: number;
  /** 1 to 5. */
  connection: number;
  /** 1 to 5. */
  identity: number;
  /** 1 to 5. */
  stress_response: number;
  [k: string]: unknown;
}
export interface NearestPersona {
  id: PersonaId;
  /** At least 0. */
  distance: number;
  /** 0 to 1. */
  fit: number;
  [k: string]: unknown;
}
export interface Observation {
  mode_target: ModeTarget;
  /** Intensity. 0 to 1. */
  signal_strength: number;
  /** Certainty. 0 to 1; default 1. */
  confidence?: number;
  /**
   * Arbitrary metadata of at most 8192 bytes of JSON and 16 levels, including the object itself. The key `__proto__` is refused at every level, and `prototype` within `constructor`.
   */
  context?: {
    [k: string]: unknown;
  };
  /**
   * Time of the observation (RFC 3339), at least 1.000 s after the previous. Default: now. At most 35 characters; RFC 3339.
   */
  timestamp?: string;
}
export interface Pagination {
  /** At least 1. */
  limit: number;
  /** At least 0. */
  offset: number;
  /** At least 0. */
  total: number;
  has_more: boolean;
  /** The `cursor` of the next page. `null`: no next page. */
  next_cursor: string | null;
  [k: string]: unknown;
}
export interface Persona {
  id: PersonaId;
  name: string;
  archetype: string;
  description: string;
  mode_profile: ModeStrengths;
  core_values: string[];
  decision_style: DecisionStyle;
  [k: string]: unknown;
}
export interface PersonaDetail {
  id: PersonaId;
  name: string;
  archetype: string;
  description: string;
  mode_profile: ModeStrengths;
  core_values: string[];
  decision_style: DecisionStyle;
  long_description: string;
  preferred_actions: Action[];
  stress_recovery: StressRecovery;
  [k: string]: unknown;
}
export interface StressRecovery {
  preferred_path: RecoveryPath;
  half_life_minutes: number;
  support_required_at: StressState;
  cooldown_required_at: StressState;
  [k: string]: unknown;
}
export interface PersonasQuery {
  version?: PersonasVersion;
}
export interface Portal {
  /**
   * An https URL without a user name. http is allowed only for this machine. At most 2048 characters.
   */
  return_url: string;
}
export interface Question {
  id: OpenQuestionId;
  /** At least 1. */
  position: number;
  text: string;
  [k: string]: unknown;
}
export interface Questionnaire {
  test_id: string;
  version: string;
  instructions: string;
  scale: AnswerScale;
  question_count: number;
  questions: Question[];
  [k: string]: unknown;
}
export interface RenameInstance {
  /** 1 to 100 characters. */
  name?: string;
  /** 0 to 2000 characters. */
  description?: string;
}
export interface ResetDone {
  /** Pattern `^inst_[0-9a-f]{16}$`. */
  id: string;
  reset_to: OpenResetMode;
  /** At least 0. */
  cycle: number;
  /** 0 to 1. */
  energy_level: number;
  stress_state: StressState;
  [k: string]: unknown;
}
/** A reset. The next cycles belong to a new generation. */
export interface ResetEventData {
  /** The new generation. At least 1. */
  generation: number;
  [k: string]: unknown;
}
export interface ResetInstance {
  mode: ResetMode;
}
export interface Simulation {
  /** 1 to 20 items. */
  observations: Observation[];
}
/** The state. Sent first, and after the newest cycle, rename or reset. */
export interface StateEventData {
  snapshot: Snapshot;
  contract: Contract;
  drift: Drift;
  set_point?: ModeStrengths;
  last_stable?: ModeStrengths;
  [k: string]: unknown;
}
export interface States {
  states: Processed[];
  /** At least 0. */
  processed_count: number;
  [k: string]: unknown;
}
export interface Submission {
  /** Always "1.0". */
  version?: string;
  /** At most 35 items. */
  answers: TestAnswer[];
}
export interface TestAnswer {
  question_id: QuestionId;
  /** 1 to 5. */
  value: number;
}
export interface SuggestedConfig {
  mode_strengths: ModeStrengths;
  /** 0 to 1. */
  energy_level: number;
  [k: string]: unknown;
}
export interface TestResult {
  version: string;
  mode_strengths: ModeStrengths;
  scores: ModeScores;
  dominant_modes: ModeName[];
  /** 3 items. */
  nearest_personas: NearestPersona[];
  composite: Composite | null;
  initial_config: SuggestedConfig;
  quality: AnswerQuality;
  [k: string]: unknown;
}
export interface UpdatedInstance {
  /** Pattern `^inst_[0-9a-f]{16}$`. */
  id: string;
  name: string;
  description: string;
  /** RFC 3339. */
  updated_at: string;
  [k: string]: unknown;
}
export interface WholePagination {
  /** At least 0. */
  total: number;
  [k: string]: unknown;
}
