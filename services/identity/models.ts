import { advance, type Observation } from '#identity/advance';
import { type ReferencePoints, readReferencePoints } from '#identity/reference-points';
import { type Report, readReport } from '#identity/report';
import {
  createState,
  type InitialConfig,
  MODEL_VERSION,
  resetToDefault,
  resetToInitial,
  type State,
} from '#identity/state';

/**
 * One version of the model: all that depends on how a state is laid out and how it moves. What a
 * version computes never changes once it was released, because journals are run again by it.
 */
export type Model = {
  /** Stands in every head and every event of an instance. */
  readonly version: string;
  readonly create: (config: InitialConfig) => State;
  /** One cycle, as `advance` describes it; `from` may be `into`. */
  readonly advance: (from: State, observation: Observation, dtSeconds: number, into: State) => void;
  readonly readReport: (state: State, into: Report) => void;
  readonly readReferencePoints: (state: State) => ReferencePoints;
  readonly resetToInitial: (state: State) => State;
  readonly resetToDefault: (state: State) => State;
  /** By version: what a state of it becomes in this one, as a new state. Pure. */
  readonly takesOver: ReadonlyMap<string, (state: State) => State>;
};

/** The models that a program has. */
export type Models = {
  /** What new instances get whose account has chosen none. */
  readonly newest: Model;
  /** Undefined: this program cannot run it. */
  readonly find: (version: string) => Model | undefined;
  /** All of them, oldest first. */
  readonly versions: readonly string[];
};

/** The models of a list, oldest first; `newest` names the one of new instances. */
export function modelsOf(models: readonly Model[], newest: Model): Models {
  const byVersion = new Map(models.map((model) => [model.version, model]));
  return {
    newest,
    find: (version) => byVersion.get(version),
    versions: [...byVersion.keys()],
  };
}

/**
 * The version that moves an instance of version `present` on: the one that its account has chosen,
 * if this program has a way to it, else the one that it has.
 */
export function nextVersion(models: Models, present: string, chosen: string | undefined): string {
  if (chosen === undefined || chosen === present) return present;
  return models.find(chosen)?.takesOver.has(present) === true ? chosen : present;
}

/** The first model: the files beside this one. It takes over from none. */
export const MODEL_1_0: Model = {
  version: MODEL_VERSION,
  create: createState,
  advance,
  readReport,
  readReferencePoints,
  resetToInitial,
  resetToDefault,
  takesOver: new Map(),
};

/**
 * The models of this program, oldest first, and the one of new instances: a version that the release
 * before has too, so that it can run what a node of this one has begun. Source: decision 238.
 */
export const MODELS = modelsOf([MODEL_1_0], MODEL_1_0);
