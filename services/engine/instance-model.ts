import { strict as assert } from 'node:assert';
import type { StepTimer } from '#engine/step-timer';
import type { Model, Models } from '#identity/model';
import type { State } from '#identity/state';
import { CorruptState } from '#storage/byte-reader';
import type { InstanceHead } from '#storage/instance-store';

/** What moves instances: the models that this program has, and what times their steps. */
export type ModelPorts = { readonly models: Models; readonly steps: StepTimer };

/**
 * The model of a version. Throws `CorruptState`, which is 500 for this instance alone, when this
 * program does not have it: a newer one has stored it.
 */
export function modelOf(models: Models, version: string, instanceId: string): Model {
  const model = models.find(version);
  if (model !== undefined) return model;
  const known = models.versions.join(', ');
  throw new CorruptState(`${instanceId} needs model ${version}; this program has ${known}`);
}

/** Throws `CorruptState` when an instance needs a model that this program does not have. */
export function assertKnownModel(
  models: Models,
  { modelVersion, deletedAtMs }: InstanceHead,
  instanceId: string,
): void {
  // The marker of a deleted one has no state that could be misread.
  if (deletedAtMs === undefined) modelOf(models, modelVersion, instanceId);
}

/** What the state of a head becomes in another version; `nextVersion` has found that there is a way. */
export function takenOver(
  models: Models,
  version: string,
  { modelVersion, model }: InstanceHead,
  instanceId: string,
): State {
  const takeOver = modelOf(models, version, instanceId).takesOver.get(modelVersion);
  assert(takeOver !== undefined, `model ${version} cannot go on from model ${modelVersion}`);
  return takeOver(model);
}
