import type { InstanceEvent } from '#engine/instance/event';
import { bytesOfHeadText, bytesOfModel, bytesOfText } from '#engine/instance/held-bytes';
import type { InstanceHead } from '#storage/ports/instances';

/** Bytes of an event in memory without its text, by estimate. */
const EVENT_BYTES = 200;

/** Bytes of one of its observations in memory, without the text that its row shares. */
const OBSERVATION_BYTES = 150;

/** A stored head, and the events after it that were replayed. */
export type Recovery = {
  readonly head: InstanceHead | undefined;
  readonly events: readonly InstanceEvent[];
  /** Bytes of all their text, which the rows made of it share. */
  readonly textBytes: number;
  /** Roughly the bytes of both that nothing else holds. */
  readonly bytes: number;
};

/**
 * What a recovery starts from: until the next checkpoint callers may come back for answers of its
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
  // A vector of its own has only what was stored before.
  const bytes = shells + bytesOfModel(head);
  return { head, events, textBytes, bytes };
}

/** The recovery after text has left the head or the rows: what it keeps of it, it holds alone. */
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
