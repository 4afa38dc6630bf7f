import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';

/** An observation as sent. The mark in its context identifies the history row. */
export type SentObservation = {
  readonly mark: string;
  /** Index of the target mode in `MODE_TARGETS`. */
  readonly mode: number;
  readonly signal: number;
  readonly confidence: number;
  readonly timestampMs: number;
};

/** Requested operation of a call. */
export type Requested =
  | {
      readonly kind: 'create';
      readonly name: string;
      readonly modeStrengths: readonly number[];
      readonly energyLevel: number;
    }
  | {
      readonly kind: 'process';
      readonly observations: readonly SentObservation[];
      readonly isBatch: boolean;
      readonly isEveryStateWanted: boolean;
      /** Whether each observation had its own idempotency key (decision 280). */
      readonly hasItemKeys?: boolean;
    }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' }
  | { readonly kind: 'rename'; readonly name: string }
  | { readonly kind: 'remove' }
  | { readonly kind: 'read' };

/** Outcome of a call after all attempts. */
export type Outcome =
  /** The call is applied. The ETag identifies the version, the body's hash the state. */
  | {
      readonly kind: 'acknowledged';
      readonly etag: string;
      readonly bodyHash: string;
      readonly cycle: number | undefined;
    }
  /** The call changed nothing; the answer shows the previous version. */
  | { readonly kind: 'throttled'; readonly etag: string }
  /** The call is applied, but its answer can no longer be replayed. */
  | { readonly kind: 'superseded' }
  /** The call is not applied and never will be. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  | { readonly kind: 'unknown'; readonly why: string };

/** One call of one caller. Times are monotonic milliseconds of the caller's process. */
export type Call = {
  readonly id: number;
  readonly requested: Requested;
  readonly accountId: string;
  /** Empty for a create until the answer names the instance. */
  instance: string;
  /** The `Idempotency-Key`, if any. */
  readonly key: string | undefined;
  /** Time for which the open-model load scheduled the call. Latency is measured from this time. */
  readonly dueMs: number;
  readonly startMs: number;
  /** Infinite while in flight. */
  endMs: number;
  tries: number;
  outcome: Outcome;
};

/** Mark that identifies an observation. */
export function markOf(callId: number, index: number): string {
  return `${callId}.${index}`;
}

/** Calls by the marks of their observations. */
export function callsByMark(calls: readonly Call[]): ReadonlyMap<string, Call> {
  const byMark = new Map<string, Call>();
  for (const call of calls) {
    if (call.requested.kind !== 'process') continue;
    for (const { mark } of call.requested.observations) byMark.set(mark, call);
  }
  return byMark;
}

/** Hash of a body in the log: 132 bits of SHA-256. */
export function bodyHashOf(body: string | Uint8Array): string {
  return hash('sha256', body, 'base64url').slice(0, 22);
}

/** Whether the answer confirms that the call was applied. */
export function hasHappened({ outcome }: Call): boolean {
  return outcome.kind === 'acknowledged' || outcome.kind === 'superseded';
}

/** Whether a call changes an instance if applied. */
export function isWrite({ requested }: Pick<Call, 'requested'>): boolean {
  return requested.kind !== 'read';
}

/** Log of all calls and their outcomes, ordered by start time. */
export class CallLog {
  readonly calls: Call[] = [];

  /** Id of the next call, for marks and names inside its request. */
  get nextId(): number {
    return this.calls.length + 1;
  }

  /** Adds a call before it is sent. The outcome is `unknown` until the caller sets it. */
  begin(
    fields: Pick<Call, 'requested' | 'accountId' | 'instance' | 'key' | 'dueMs' | 'startMs'>,
  ): Call {
    const call: Call = {
      ...fields,
      id: this.nextId,
      endMs: Number.POSITIVE_INFINITY,
      tries: 0,
      outcome: { kind: 'unknown', why: 'in flight' },
    };
    this.calls.push(call);
    return call;
  }

  /** Writes the log as JSON lines. The end of a call in flight is null. */
  async writeTo(file: string): Promise<void> {
    const lines = this.calls.map((call) => `${JSON.stringify(call)}\n`);
    await writeFile(file, lines);
  }
}
