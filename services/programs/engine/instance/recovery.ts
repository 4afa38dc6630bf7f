import type { InstanceEvent } from '#engine/instance/event';
import { bytesOfHeadText, bytesOfModel, bytesOfText } from '#engine/instance/held-bytes';
import type { InstanceHead } from '#storage/ports/instances';

/** Estimated bytes of an event in memory, without its text. */
const EVENT_BYTES = 200;

/** Estimated bytes of an observation in memory, without the text that its row shares. */
const OBSERVATION_BYTES = 150;

/** Stored head, and the events after it that were replayed. */
export type Recovery = {
  readonly head: InstanceHead | undefined;
  readonly events: readonly InstanceEvent[];
  /** Bytes of the text in the head and the events. The rows made from them share this text. */
  readonly textBytes: number;
  /** Approximate bytes of the head and the events that nothing else holds. */
  readonly bytes: number;
};

/**
 * Recovery of an instance. Until the next checkpoint, callers may ask again for answers of its
 * records (decision 90).
 */
export function recoveryOf(
  head: InstanceHead | undefined,
  events: readonly InstanceEvent[],
): Recovery {
  const textBytes = events.reduce((sum, one) => sum + bytesOfTexts(one), bytesOfHeadText(head));
  const shells = events.reduce((sum, { change }) => {
    const count = change.kind === 'observed' ? change.observations.length : 0;
    return sum + EVENT_BYTES + count * OBSERVATION_BYTES;
  }, 0);
  // The model is counted because the recovery keeps the stored vector for itself.
  const bytes = shells + bytesOfModel(head);
  return { head, events, textBytes, bytes };
}

/**
 * Recovery after text has left the head or the rows: the recovery is then the only holder of this
 * text.
 */
export function afterText(
  recovery: Recovery | undefined,
  leavingBytes: number,
): Recovery | undefined {
  if (recovery === undefined) return undefined;
  const { bytes, textBytes } = recovery;
  const ownBytes = Math.min(leavingBytes, textBytes);
  return { ...recovery, bytes: bytes + ownBytes, textBytes: textBytes - ownBytes };
}

function bytesOfTexts({ change }: InstanceEvent): number {
  switch (change.kind) {
    case 'created':
    case 'renamed':
      return bytesOfText(change.name ?? '') + bytesOfText(change.description ?? '');
    case 'observed':
      return change.observations.reduce((sum, one) => sum + bytesOfText(one.contextJson), 0);
    case 'removed':
    case 'reset':
    case 'trimmed':
      return 0;
  }
}
