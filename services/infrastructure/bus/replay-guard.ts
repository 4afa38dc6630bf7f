/** Evidence about a message with a valid signature. */
type ReplayEvidence = {
  /** Largest sequence received from the sender. Undefined if the sender was not heard before. */
  readonly lastSequence: number | undefined;
  readonly sequence: number;
  /** Sender's wall clock, in Unix milliseconds. */
  readonly sentAtMs: number;
};

/**
 * Verdict on a message. `repeated`: may have been received before. `stale`: the sender's clock
 * differs too much.
 */
type ReplayVerdict = 'new' | 'repeated' | 'stale';

/**
 * Maximum clock difference to a sender that was not heard before, in milliseconds. A process that
 * has just started thus rejects older recordings. Source: decision 135.
 */
export const STRANGER_MS_MAX = 60_000;

/**
 * Decides whether a message with a valid signature is a replay. For a known sender only the
 * sequence decides, so a sender whose clock steps is still heard. `nowMs` is Unix time.
 */
export function judgeReplay(evidence: ReplayEvidence, nowMs: number): ReplayVerdict {
  const { lastSequence, sequence, sentAtMs } = evidence;
  if (lastSequence !== undefined) return sequence > lastSequence ? 'new' : 'repeated';
  return Math.abs(sentAtMs - nowMs) > STRANGER_MS_MAX ? 'stale' : 'new';
}
