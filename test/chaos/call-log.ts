import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';

/** One observation as it was sent; its mark travels in its context, so that its row is known again. */
export type SentObservation = {
  readonly mark: string;
  /** Position in mode order. */
  readonly mode: number;
  readonly signal: number;
  readonly confidence: number;
  readonly timestampMs: number;
};

/** What a caller wanted. */
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
      /** Whether each observation had a key of its own (decision 280). */
      readonly hasItemKeys?: boolean;
    }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' }
  | { readonly kind: 'rename'; readonly name: string }
  | { readonly kind: 'remove' }
  | { readonly kind: 'read' };

/** How a call ended, over all tries of its caller. */
export type Outcome =
  /** It has happened, with this answer: version by its ETag, state by the hash of the body. */
  | {
      readonly kind: 'acknowledged';
      readonly etag: string;
      readonly bodyHash: string;
      readonly cycle: number | undefined;
    }
  /** It came too early: nothing has happened, and the answer shows the version before. */
  | { readonly kind: 'throttled'; readonly etag: string }
  /** It has happened, and its answer cannot be given any more. */
  | { readonly kind: 'superseded' }
  /** It has not happened and never will. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  | { readonly kind: 'unknown'; readonly why: string };

/** One call of one caller. Times are monotonic milliseconds of the caller's process. */
export type Call = {
  readonly id: number;
  readonly requested: Requested;
  readonly accountId: string;
  /** Empty for a create until its instance is known. */
  instance: string;
  /** The `Idempotency-Key`, if it has one. */
  readonly key: string | undefined;
  /** When the open model wanted it sent: latency counts from here. */
  readonly dueMs: number;
  readonly startMs: number;
  /** Infinite while it is under way. */
  endMs: number;
  tries: number;
  outcome: Outcome;
};

/** The mark of an observation. */
export function markOf(callId: number, index: number): string {
  return `${callId}.${index}`;
}

/** The calls that have sent observations, by the mark of each. */
export function callsByMark(calls: readonly Call[]): ReadonlyMap<string, Call> {
  const byMark = new Map<string, Call>();
  for (const call of calls) {
    if (call.requested.kind !== 'process') continue;
    for (const { mark } of call.requested.observations) byMark.set(mark, call);
  }
  return byMark;
}

/** What stands in the log for an answer's body: 132 bits of its SHA-256. */
export function bodyHashOf(body: string | Uint8Array): string {
  return hash('sha256', body, 'base64url').slice(0, 22);
}

/** Whether an answer said that the call has changed something. */
export function hasHappened({ outcome }: Call): boolean {
  return outcome.kind === 'acknowledged' || outcome.kind === 'superseded';
}

/** Whether a call changes something when it is carried out. */
export function isWrite({ requested }: Pick<Call, 'requested'>): boolean {
  return requested.kind !== 'read';
}

/** The caller's own record of what it asked for and was answered, in the order of the calls. */
export class CallLog {
  readonly calls: Call[] = [];

  /** The id that the next call gets, for marks and names that must be known before. */
  get nextId(): number {
    return this.calls.length + 1;
  }

  /** Notes a call before it is sent. Until its end its outcome is unknown. */
  begin(
    fields: Pick<Call, 'requested' | 'accountId' | 'instance' | 'key' | 'dueMs' | 'startMs'>,
  ): Call {
    const call: Call = {
      ...fields,
      id: this.nextId,
      endMs: Number.POSITIVE_INFINITY,
      tries: 0,
      outcome: { kind: 'unknown', why: 'under way' },
    };
    this.calls.push(call);
    return call;
  }

  /** Writes the whole log, a call a line in JSON; an infinite end becomes null. */
  async writeTo(file: string): Promise<void> {
    const lines = this.calls.map((call) => `${JSON.stringify(call)}\n`);
    await writeFile(file, lines);
  }
}
