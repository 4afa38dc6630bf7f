import { strict as assert } from 'node:assert';
import { bytesOfHeadText, bytesOfModel, bytesOfRows } from '#engine/instance/held-bytes';
import type { StepTimer } from '#engine/instance/interval';
import type { Recovery } from '#engine/instance/recovery';
import type { UnstoredRows } from '#engine/instance/unstored-rows';
import type { Model, Models } from '#identity/models';
import type { State } from '#identity/state';
import type { Instant } from '#platform/clock';
import { CorruptState } from '#storage/ports/bytes';
import type { InstanceHead } from '#storage/ports/instances';

/** Bytes of an idle instance in memory without its text and its model: `test/engine/held-bytes`. */
const INSTANCE_BYTES = 780;

/**
 * One instance in memory; every event makes the next one. What is stored of it is one immutable
 * value, the head, so an idle instance and a store in the same process share it.
 */
export type InstanceState = {
  /**
   * Undefined: nothing was ever committed. With `deletedAtMs` it is the marker of a deleted one. Its
   * newest rows are those that it was last stored with; `unstored` has those that came after them.
   */
  head: InstanceHead | undefined;
  /** Bytes of name and description in memory. */
  readonly textBytes: number;
  /** Whether the store may hold the head's model, so that it must be copied. Set by a checkpoint. */
  isModelShared: boolean;
  /** Made on first use, because an idle instance has none; a checkpoint takes it away. */
  unstored: UnstoredRows | undefined;
  /** What replay started from and applied; a checkpoint takes it away. */
  recovery: Recovery | undefined;
  /** When it was last observed by both clocks of this process. Kept by `observedEvent`. */
  clockAnchor: Instant | undefined;
};

/** The instance that a head describes, or one of which nothing is known. */
export function instanceFrom(head: InstanceHead | undefined): InstanceState {
  return {
    head,
    textBytes: bytesOfHeadText(head),
    isModelShared: true,
    unstored: undefined,
    recovery: undefined,
    clockAnchor: undefined,
  };
}

/** The head of an instance that exists. Throws when it does not: the caller has made sure of it. */
export function headOf({ head }: Pick<InstanceState, 'head'>): InstanceHead {
  if (head === undefined) throw new Error('the instance has no head');
  return head;
}

/** Whether the instance was created and not deleted. */
export function isLive({ head }: InstanceState): boolean {
  return head !== undefined && head.deletedAtMs === undefined;
}

/** Roughly the bytes an instance holds. */
export function bytesOf(state: InstanceState): number {
  return INSTANCE_BYTES + bytesOfModel(state.head) + bytesOfRows(state.head) + bytesUnstored(state);
}

/** Those of them that were not there before it changed, and its text: it stays until it is stored. */
export function bytesUnstored({ textBytes, unstored, recovery }: InstanceState): number {
  return textBytes + (unstored?.bytes ?? 0) + (recovery?.bytes ?? 0);
}

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
