import { strict as assert } from 'node:assert';
import { bytesOfHeadText, bytesOfModel, bytesOfRows } from '#engine/instance/held-bytes';
import type { StepTimer } from '#engine/instance/interval';
import type { Recovery } from '#engine/instance/recovery';
import type { UnstoredRows } from '#engine/instance/unstored-rows';
import type { Model, Models } from '#identity/models';
import type { State } from '#identity/state';
import type { Instant } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import type { InstanceHead } from '#storage/ports/instances';

/**
 * Bytes of an idle instance in memory, without its text and its model: `test/engine/held-bytes`.
 */
const INSTANCE_BYTES = 780;

/**
 * One instance in memory. Every event produces the next state. The stored part is one immutable
 * value, the head, so an idle instance shares it with a store in the same process.
 */
export type InstanceState = {
  /**
   * Undefined if nothing was ever committed. With `deletedAtMs` the head is the marker of a deleted
   * instance. Its newest rows are those of the last checkpoint; `unstored` has the rows after them.
   */
  head: InstanceHead | undefined;
  /** Bytes of name and description in memory. */
  readonly textBytes: number;
  /**
   * Whether the store may share the head's model, so that a cycle must copy it. Set by a
   * checkpoint.
   */
  isModelShared: boolean;
  /** Created on first use, because an idle instance has none. A checkpoint removes it. */
  unstored: UnstoredRows | undefined;
  /** Start of the replay and its events. A checkpoint removes it. */
  recovery: Recovery | undefined;
  /** Time of the last observation by both clocks of this process. Set by `observedEvent`. */
  clockAnchor: Instant | undefined;
};

/** State of the instance that a head describes; without a head, of an unknown instance. */
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

/** Head of an existing instance. Throws an Error without a head: the caller must have checked. */
export function headOf({ head }: Pick<InstanceState, 'head'>): InstanceHead {
  if (head === undefined) throw new Error('the instance has no head');
  return head;
}

/** Whether the instance was created and not deleted. */
export function isLive({ head }: InstanceState): boolean {
  return head !== undefined && head.deletedAtMs === undefined;
}

/** Approximate bytes of an instance in memory. */
export function bytesOf(state: InstanceState): number {
  return INSTANCE_BYTES + bytesOfModel(state.head) + bytesOfRows(state.head) + bytesUnstored(state);
}

/**
 * Approximate bytes that only unstored changes hold, and the bytes of the text. They stay in memory
 * until the instance is stored.
 */
export function bytesUnstored({ textBytes, unstored, recovery }: InstanceState): number {
  return textBytes + (unstored?.bytes ?? 0) + (recovery?.bytes ?? 0);
}

/** Models of this program, and the timer of their steps. */
export type ModelPorts = { readonly models: Models; readonly steps: StepTimer };

/**
 * Model of a version. Throws `CorruptState` when this program lacks the model because a newer one
 * stored the instance. Only this instance then answers 500.
 */
export function modelOf(models: Models, version: string, instanceId: string): Model {
  const model = models.find(version);
  if (model !== undefined) return model;
  const known = models.versions.join(', ');
  throw new CorruptState(`${instanceId} needs model ${version}; this program has ${known}`);
}

/** Throws `CorruptState` when an instance needs a model that this program lacks. */
export function assertKnownModel(
  models: Models,
  { modelVersion, deletedAtMs }: InstanceHead,
  instanceId: string,
): void {
  // The marker of a deleted instance has no model state that could be misread.
  if (deletedAtMs === undefined) modelOf(models, modelVersion, instanceId);
}

/**
 * Converts the model state of a head to another version. `nextVersion` has checked that a
 * conversion exists.
 */
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
