/*
 * Names of client models for schemas that the API document leaves unnamed. A missing name stops the
 * generation, so that a person chooses every name.
 */

/** Names of answer `data` by operation, where the API document has none. */
export const ANSWER_NAMES: Readonly<Record<string, string>> = {
  createInstance: 'CreatedInstance',
  listInstances: 'ListedInstance',
  updateInstance: 'UpdatedInstance',
  deleteInstance: 'DeletedInstance',
  resetInstance: 'ResetDone',
  processBatch: 'BatchResult',
  simulateObservations: 'States',
  processFleet: 'ProcessedFleet',
  forkInstance: 'ForkedInstance',
  createCheckout: 'BillingPage',
  openPortal: 'BillingPage',
};

/** Names of request bodies by operation, where the API document has none. */
export const BODY_NAMES: Readonly<Record<string, string>> = {
  createCheckout: 'Checkout',
  openPortal: 'Portal',
};

/** Names of query models by operation. */
export const QUERY_NAMES: Readonly<Record<string, string>> = {
  listInstances: 'InstancesQuery',
  getContract: 'ContractQuery',
  getHistory: 'HistoryQuery',
  getDrift: 'DriftQuery',
  getStates: 'StatesQuery',
  listPersonas: 'PersonasQuery',
  streamEvents: 'EventsQuery',
  listEvents: 'AccountEventsQuery',
  getAudit: 'AuditQuery',
};

/** Operations for the payment provider (interface 4.6), which the clients omit. */
export const NOT_SHOWN: ReadonlySet<string> = new Set(['notifyBilling']);

/** Names of nested objects, by their path. */
export const NESTED_NAMES: Readonly<Record<string, string>> = {
  'Account.key': 'KeyDescription',
  'Account.plan': 'Plan',
  'Account.usage': 'Usage',
  'Account.usage.minute': 'MinuteUsage',
  'Account.usage.month': 'MonthUsage',
  'Account.webhooks|0': 'WebhookCounts',
  'AuditLine.actor': 'AuditActor',
  'BatchResult|0': 'BatchProcessed',
  'BatchResult|1': 'BatchStates',
  'Contract.recovery_profile': 'RecoveryProfile',
  'CreateInstance.initial_config': 'InitialConfig',
  'CreateInstance.initial_config.mode_strengths': 'InitialModeStrengths',
  'Deviation.modes[]': 'ModeDeviation',
  'Deviation.sustained': 'SustainedShift',
  'Error.details': 'ErrorDetails',
  'FleetCounts.dominant_modes': 'DominantModeCounts',
  'FleetCounts.drift_levels': 'DriftLevelCounts',
  'FleetCounts.stress_states': 'StressStateCounts',
  'FleetCounts.tags[]': 'TagCount',
  'FleetResult.refusal': 'FleetRefusal',
  'PersonaDetail.stress_recovery': 'StressRecovery',
  'ProcessedFleet.summary': 'FleetSummary',
  'Questionnaire.questions[]': 'Question',
  'Questionnaire.scale': 'AnswerScale',
  'Submission.answers[]': 'TestAnswer',
  'TestResult.initial_config': 'SuggestedConfig',
  'TestResult.nearest_personas[]': 'NearestPersona',
  'TestResult.quality': 'AnswerQuality',
  'TestResult.scores': 'ModeScores',
};

/** Names of enumerations, by their first value, or by first and last value (`first…last`). */
export const ENUMERATION_NAMES: Readonly<Record<string, string>> = {
  D0: 'DriftLevel',
  D1: 'DriftEventLevel',
  LOW: 'StressState',
  PERCEPTION: 'ModeTarget',
  Perception: 'ModeName',
  'Perception…None': 'DominantMode',
  applied: 'ItemStatus',
  'applied…not_attempted': 'FleetStatus',
  asc: 'SortOrder',
  avoidant: 'Risk',
  begun: 'AuditOutcome',
  created: 'EventType',
  created_at: 'InstancesSort',
  current: 'GenerationChoice',
  explore: 'Action',
  free: 'PlanName',
  full: 'KeyScope',
  initial: 'ResetMode',
  key: 'ActorKind',
  knowledge_focused_relationship_aware: 'Composite',
  low: 'CommitmentThreshold',
  malformed_json: 'ErrorReason',
  minimal: 'Expressiveness',
  never: 'RetryAdvice',
  none: 'RecoveryPath',
  ok: 'QualityVerdict',
  oldest: 'EventsStart',
  perception: 'ModeKey',
  persona_analytical: 'PersonaId',
  q01: 'QuestionId',
  requested: 'WebhookPause',
  slow: 'Tempo',
  unauthorized: 'ErrorCode',
  up: 'ShiftDirection',
  v1: 'PersonasVersion',
  within_band: 'DriftReason',
};
