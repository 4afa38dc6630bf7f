import type { Limits } from '#accounts/plan';
import { WINDOW_MS } from '#accounts/quota-windows';
import type { CommitLog } from '#actor-runtime/commit-log';
import { toFault } from '#errors/fault';
import type { AdmitCall } from '#grpc/limiter-messages';
import { UNRECORDED_SHARE } from '#limiter/quota-bounds';
import type { Clock, Instant } from '#stdlib/clock';
import type { DirtyFlag } from '#storage/ports/cluster';

type RecordingLog = Pick<CommitLog, 'isHeldUp'>;

/**
 * Grants read calls without a record, up to a share of each window, while a file's only limiter
 * cannot write records. A crash loses the count of such grants. Therefore, for a minute after a
 * crash, every window starts with the whole share counted as granted. Source: decision 277.
 */
export class UnrecordedReads {
  readonly #isFlagged: boolean;
  #log: RecordingLog | undefined;
  /** Monotonic time in milliseconds. All grants before this time are unknown. */
  #unknownSinceMs: number;
  #grantedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * `isFlagged`: the stored flag shows possible grants to the next process. Without the flag, the
   * process makes no such grants. `isUnknown`: an earlier process may have made grants.
   */
  constructor(isFlagged: boolean, isUnknown: boolean, nowMs: number) {
    this.#isFlagged = isFlagged;
    this.#unknownSinceMs = isUnknown ? nowMs : Number.NEGATIVE_INFINITY;
  }

  /** Sets the log for records. Grants with an earlier log are then unknown. */
  recordTo(log: RecordingLog, nowMs: number): void {
    if (this.#log !== undefined && this.areRecent(nowMs)) this.#unknownSinceMs = nowMs;
    this.#log = log;
  }

  /**
   * Grants a call without a record if that is allowed. `granted` is the number of such calls in the
   * window so far. Returns whether the call was granted.
   */
  grant({ scope, cycles }: AdmitCall, granted: number, limits: Limits, now: Instant): boolean {
    if ((scope !== 'read' && scope !== 'any') || cycles > 0 || this.#log?.isHeldUp !== true)
      return false;
    if (!this.#isFlagged || granted >= partOf(limits)) return false;
    this.#grantedAtMs = now.monotonicMs;
    return true;
  }

  /** Upper bound for unknown grants, for a window that begins or is restored now. */
  forgotten(limits: Limits, now: Instant): number {
    return now.monotonicMs - this.#unknownSinceMs < WINDOW_MS ? partOf(limits) : 0;
  }

  /**
   * Whether a window with such grants may still be open. The next process must then count the
   * grants.
   */
  areRecent(nowMs: number): boolean {
    return nowMs - Math.max(this.#grantedAtMs, this.#unknownSinceMs) < WINDOW_MS;
  }
}

function partOf({ requestsPerMinute }: Limits): number {
  return Math.floor(requestsPerMinute * UNRECORDED_SHARE);
}

/** Starts grants in a new process. Without a writable flag, the process makes no such grants. */
export async function beginUnrecorded(
  flag: DirtyFlag,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<UnrecordedReads> {
  const isUnknown = await flag.set().catch(unlessUnavailable);
  return new UnrecordedReads(isUnknown !== undefined, isUnknown ?? true, clock.monotonicMs());
}

/** Ends grants in a process. The flag stays set while recent grants may affect the next process. */
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
