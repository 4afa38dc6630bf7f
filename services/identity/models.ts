import { advance } from '#identity/advance';
import { type Model, modelsOf } from '#identity/model';
import { readReferencePoints } from '#identity/reference-points';
import { readReport } from '#identity/report';
import { createState, MODEL_VERSION, resetToDefault, resetToInitial } from '#identity/state';

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
