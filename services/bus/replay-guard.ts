/** What is known when a message with a right signature is heard. */
type ReplayEvidence = {
  /** The largest sequence heard of its sender; undefined: the sender was not heard before. */
  readonly lastSequence: number | undefined;
  readonly sequence: number;
  /** By the sender's wall clock, in Unix milliseconds. */
  readonly sentAtMs: number;
};

/** Whether a message is new: `repeated` may have been heard before; `stale` is of another time. */
type ReplayVerdict = 'new' | 'repeated' | 'stale';

/**
 * How far the clock of a sender that was not heard before may stand from ours, in milliseconds:
 * what was recorded longer ago cannot be played to a process that has just started. Source:
 * decision 135.
 */
export const STRANGER_MS_MAX = 60_000;

/**
 * Judges a message whose signature is right. A known sender is judged by its sequence alone, so
 * that one whose clock steps stays heard. `nowMs` is Unix time.
 */
export function judgeReplay(evidence: ReplayEvidence, nowMs: number): ReplayVerdict {
  const { lastSequence, sequence, sentAtMs } = evidence;
  if (lastSequence !== undefined) return sequence > lastSequence ? 'new' : 'repeated';
  return Math.abs(sentAtMs - nowMs) > STRANGER_MS_MAX ? 'stale' : 'new';
}
