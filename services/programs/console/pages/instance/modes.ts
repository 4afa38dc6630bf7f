/** The seven modes in the order of the model: key and display name. */
export const MODES = [
  ['perception', 'Perception'],
  ['exploration', 'Exploration'],
  ['order', 'Order'],
  ['assertion', 'Assertion'],
  ['connection', 'Connection'],
  ['identity', 'Identity'],
  ['stress_response', 'Stress response'],
] as const;

/** Mode key. */
type ModeKey = (typeof MODES)[number][0];

/** A value from 0 to 1 for each mode. */
export type Strengths = Readonly<Record<ModeKey, number>>;

/** Row of `GET /api/instances`. */
export type ListedInstance = {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly created_at: string;
  readonly cycle_count: number;
  readonly energy_level: number;
};

/** Answer of `GET /api/instances`. */
export type InstanceList = {
  readonly data: readonly ListedInstance[];
  readonly pagination: {
    readonly limit: number;
    readonly offset: number;
    readonly total: number;
    readonly has_more: boolean;
  };
};

/** Answer of `GET /api/instances/:id`. */
export type Instance = ListedInstance & {
  readonly updated_at: string;
  readonly stress_state: string;
  readonly stability_index: number;
  /** Version of the model. Absent during an upgrade from release 1.0. */
  readonly model_version?: string;
};

/** Version of the model that advances an instance. */
export function modelVersionOf({ model_version: version = '1.0' }: Instance): string {
  return version;
}

/** Initial state of a new instance. Omitted strengths are 0. */
export type InitialConfig = {
  readonly mode_strengths: Strengths;
  readonly energy_level?: number;
};

/** Body of `POST /api/instances`. */
export type InstanceWanted = {
  readonly name: string;
  readonly description: string;
  readonly initial_config?: InitialConfig;
};

/** State after the last cycle, in `GET /api/instances/:id/snapshot` and in reports. */
type Snapshot = {
  readonly instance_id: string;
  readonly cycle: number;
  readonly mode_strengths: Strengths;
  readonly energy_level: number;
  readonly stress_state: string;
  readonly stability_index: number;
};

/** Decision style; each value is from a closed set. */
type DecisionStyle = {
  readonly tempo: string;
  readonly risk: string;
  readonly expressiveness: string;
  readonly commitment_threshold: string;
};

/** Answer of `GET /api/instances/:id/contract`: rules for the instance's present behavior. */
export type Contract = {
  readonly dominant_modes: readonly string[];
  readonly suppressed_modes: readonly string[];
  readonly allowed_actions: readonly string[];
  readonly forbidden_actions: readonly string[];
  readonly decision_style: DecisionStyle;
  readonly energy_level: number;
  readonly stress_state: string;
  readonly recovery_profile: {
    readonly preferred_path: string;
    readonly support_required: boolean;
    readonly cooldown_required: boolean;
  };
};

/** Level of the difference between the behavior of an instance and its normal behavior. */
type DriftLevel = 'D0' | 'D1' | 'D2' | 'D3';

/** Evidence for a drift level (model 3.6). */
export type Deviation = {
  readonly description: string;
  readonly reason: string;
  readonly distance: number;
  readonly t2: number;
  readonly p_value: number;
  readonly breach: number;
  readonly run: number;
  readonly sustained: {
    readonly statistic: number;
    readonly limit: number;
    readonly mode: ModeKey | null;
    readonly direction: 'up' | 'down' | null;
  };
  readonly modes: readonly {
    readonly mode: ModeKey;
    readonly z: number;
    readonly contribution: number;
  }[];
  readonly nearest_persona: string | null;
  readonly composite: string | null;
};

/**
 * State, contract and drift after a cycle. Answer to an observation, and first event of a stream.
 */
export type Report = {
  readonly snapshot: Snapshot;
  readonly contract: Contract;
  readonly drift: { readonly level: DriftLevel; readonly deviation: Deviation };
};

/** Row of `GET /api/instances/:id/drift`, one for each cycle with a level other than `D0`. */
export type DriftEvent = {
  readonly cycle: number;
  readonly drift_level: DriftLevel;
  readonly deviation: Deviation;
  readonly affected_modes: readonly ModeKey[];
  readonly rolled_back: boolean;
  readonly timestamp: string;
};

/** Row of `GET /api/personas`. */
export type Persona = {
  readonly id: string;
  readonly name: string;
  readonly archetype: string;
  readonly description: string;
  readonly mode_profile: Strengths;
  readonly core_values: readonly string[];
  readonly decision_style: DecisionStyle;
};

/** Answer of `GET /api/test/questions`. */
export type Questionnaire = {
  readonly test_id: string;
  readonly version: string;
  readonly instructions: string;
  readonly scale: {
    readonly min: number;
    readonly max: number;
    readonly labels: readonly string[];
  };
  readonly question_count: number;
  readonly questions: readonly {
    readonly id: string;
    readonly position: number;
    readonly text: string;
  }[];
};

/** Answer of `POST /api/test/submit`. */
export type TestResult = {
  readonly version: string;
  readonly mode_strengths: Strengths;
  readonly scores: Strengths;
  readonly dominant_modes: readonly string[];
  /** Nearest first. `fit` is from 0 to 1. */
  readonly nearest_personas: readonly {
    readonly id: string;
    readonly distance: number;
    readonly fit: number;
  }[];
  readonly composite: string | null;
  readonly initial_config: InitialConfig;
  readonly quality: {
    readonly verdict: 'ok' | 'caution' | 'invalid';
    readonly consistency: number;
    readonly acquiescence: number;
    readonly longest_run: number;
    readonly response_sd: number;
    readonly flags: readonly string[];
  };
};

/** Mode values in `MODES` order. */
export function valuesOf(strengths: Strengths): number[] {
  return MODES.map(([key]) => strengths[key]);
}
