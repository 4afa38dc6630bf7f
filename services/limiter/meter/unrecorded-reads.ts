import type { Limits } from '#accounts/plan';
import { WINDOW_MS } from '#accounts/windows';
import { toFault } from '#fault/fault';
import { UNRECORDED_SHARE } from '#limiter/bounds';
import type { Clock, Instant } from '#platform/clock';
import type { CommitLog } from '#runtime/commit-log';
import type { DirtyFlag } from '#storage/ports/cluster';
import type { AdmitCall } from '#wire/limiter-messages';

type RecordingLog = Pick<CommitLog, 'isHeldUp'>;

/**
 * The part of each window that calls which only read are granted without a record, while the only
 * limiter of a file cannot write one. A crash forgets that they were, so for a minute after one every
 * window begins as if all of that part had been granted. Source: decision 277.
 */
export class UnrecordedReads {
  readonly #isFlagged: boolean;
  #log: RecordingLog | undefined;
  /** Since when it is not known what was granted before (monotonic). */
  #unknownSinceMs: number;
  #grantedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * `isFlagged`: whether the next process will know that there may be some, or none are granted;
   * `isUnknown`: whether an earlier process may have granted some.
   */
  constructor(isFlagged: boolean, isUnknown: boolean, nowMs: number) {
    this.#isFlagged = isFlagged;
    this.#unknownSinceMs = isUnknown ? nowMs : Number.NEGATIVE_INFINITY;
  }

  /** The log that records go to from now on; what was granted beside an earlier one is forgotten. */
  recordTo(log: RecordingLog, nowMs: number): void {
    if (this.#log !== undefined && this.areRecent(nowMs)) this.#unknownSinceMs = nowMs;
    this.#log = log;
  }

  /** Grants a call without a record if it may be, after `granted` others of its window; else answers false. */
  grant({ scope, cycles }: AdmitCall, granted: number, limits: Limits, now: Instant): boolean {
    if ((scope !== 'read' && scope !== 'any') || cycles > 0 || this.#log?.isHeldUp !== true)
      return false;
    if (!this.#isFlagged || granted >= partOf(limits)) return false;
    this.#grantedAtMs = now.monotonicMs;
    return true;
  }

  /** How many requests of a window that begins or goes on now may have been granted, and are forgotten. */
  forgotten(limits: Limits, now: Instant): number {
    return now.monotonicMs - this.#unknownSinceMs < WINDOW_MS ? partOf(limits) : 0;
  }

  /** Whether a process that begins now must count with some: a window they belong to may go on. */
  areRecent(nowMs: number): boolean {
    return nowMs - Math.max(this.#grantedAtMs, this.#unknownSinceMs) < WINDOW_MS;
  }
}

function partOf({ requestsPerMinute }: Limits): number {
  return Math.floor(requestsPerMinute * UNRECORDED_SHARE);
}

/** Those of a process that begins. Where nothing can be written, it grants none. */
export async function beginUnrecorded(
  flag: DirtyFlag,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<UnrecordedReads> {
  const isUnknown = await flag.set().catch(unlessUnavailable);
  return new UnrecordedReads(isUnknown !== undefined, isUnknown ?? true, clock.monotonicMs());
}

/** The process ends, and grants nothing any more. The flag stays set where the next one must count with some. */
export async function endUnrecorded(
  reads: UnrecordedReads,
  flag: DirtyFlag,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<void> {
  if (!reads.areRecent(clock.monotonicMs())) await flag.clear().catch(unlessUnavailable);
}

function unlessUnavailable(error: unknown): undefined {
  if (toFault(error).code !== 'service_unavailable') throw error;
}
