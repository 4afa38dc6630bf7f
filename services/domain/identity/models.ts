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
 * One version of the model: layout of the state, and all rules that move it.
 *
 * A released version never changes its results, because replays of journals use it.
 */
export type Model = {
  /** Version in every head and every event of an instance. */
  readonly version: string;
  readonly create: (config: InitialConfig) => State;
  /** One cycle, as `advance` describes it; `from` may be `into`. */
  readonly advance: (from: State, observation: Observation, dtSeconds: number, into: State) => void;
  readonly readReport: (state: State, into: Report) => void;
  readonly readReferencePoints: (state: State) => ReferencePoints;
  readonly resetToInitial: (state: State) => State;
  readonly resetToDefault: (state: State) => State;
  /** Migrations from other versions, by version. Each returns a new state of this version. Pure. */
  readonly takesOver: ReadonlyMap<string, (state: State) => State>;
};

/** The models that this program can run. */
export type Models = {
  /** Default model of new instances, if their account has chosen none. */
  readonly newest: Model;
  /** Returns undefined if this program lacks the version. */
  readonly find: (version: string) => Model | undefined;
  /** Versions of all models, oldest first. */
  readonly versions: readonly string[];
};

/** Catalog of the models in a list, oldest first. `newest` is the default of new instances. */
export function modelsOf(models: readonly Model[], newest: Model): Models {
  const byVersion = new Map(models.map((model) => [model.version, model]));
  return {
    newest,
    find: (version) => byVersion.get(version),
    versions: [...byVersion.keys()],
  };
}

/**
 * Version that an instance of version `present` runs next: the version chosen by its account, if
 * this program can migrate to it, else `present`.
 */
export function nextVersion(models: Models, present: string, chosen: string | undefined): string {
  if (chosen === undefined || chosen === present) return present;
  return models.find(chosen)?.takesOver.has(present) === true ? chosen : present;
}

/** The first model, in the files of this folder. It has no migrations. */
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
 * The models of this program, oldest first, and the default of new instances.
 *
 * The previous release must have the default too, because its nodes must be able to run instances
 * that nodes of this release created. Source: decision 238.
 */
export const MODELS = modelsOf([MODEL_1_0], MODEL_1_0);
