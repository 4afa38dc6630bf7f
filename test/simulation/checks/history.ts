import { Fault } from '#errors/fault';
import type { EngineAnswer, ObservationInput } from '#grpc/engine-messages';

/** Requested operation, as far as the checks need. */
export type Requested =
  | {
      readonly kind: 'create';
      readonly modeStrengths: readonly number[];
      readonly energyLevel: number;
    }
  | { readonly kind: 'rename' }
  | { readonly kind: 'remove' }
  | { readonly kind: 'process'; readonly observations: readonly ObservationInput[] }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' }
  | { readonly kind: 'read' }
  | { readonly kind: 'readHistory' }
  | { readonly kind: 'list' }
  /** Operator's trim of observations up to these marks. */
  | { readonly kind: 'trim'; readonly marks: readonly string[] };

/** Content of an answer, as far as the checks need. */
export type Seen = {
  /** ETag, which names the answered version. */
  readonly etag: string;
  /** Whether the call was throttled and changed nothing. */
  readonly isThrottled: boolean;
  /** Cycle, energy and stress state after the call. */
  readonly vitals: string | undefined;
  /** Marks of a history's observations, newest first; `total`: its count. */
  readonly marks: readonly string[] | undefined;
  /** Ids and names of a listing. */
  readonly listed: ReadonlyMap<string, string> | undefined;
  readonly total: number | undefined;
};

/** Outcome of a call over all its attempts. */
export type Outcome =
  | { readonly kind: 'answered'; readonly seen: Seen }
  /** Applied, but the answer can no longer be replayed. */
  | { readonly kind: 'superseded' }
  /** Definite failure: not applied, and never will be. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string | undefined }
  | { readonly kind: 'unknown' };

/** One call of one caller. Times are true times of the world, in milliseconds. */
export type Call = {
  readonly id: number;
  readonly requested: Requested;
  readonly account: string;
  /** Empty for a list, and for a create until its instance is known. */
  instance: string;
  /** ETag of `If-Match`, if any. */
  readonly ifMatch: string | undefined;
  readonly invokedMs: number;
  endedMs: number;
  outcome: Outcome;
};

/** Mark in an observation's context that identifies its history row. */
export function markOf(callId: number, index: number): string {
  return `${callId}.${index}`;
}

/** Name that a call gives its instance. */
export function nameOf(callId: number): string {
  return `n${callId}`;
}

/** Calls and answers in order of their start. */
export class History {
  readonly calls: Call[] = [];
  #lastId = 0;

  /** Adds a call. The outcome is unknown until its end. */
  begin(fields: Pick<Call, 'requested' | 'account' | 'instance' | 'ifMatch' | 'invokedMs'>): Call {
    this.#lastId += 1;
    const call: Call = {
      ...fields,
      id: this.#lastId,
      endedMs: Number.POSITIVE_INFINITY,
      outcome: { kind: 'unknown' },
    };
    this.calls.push(call);
    return call;
  }

  /** Id of the next call, for marks and names needed in advance. */
  get nextId(): number {
    return this.#lastId + 1;
  }
}

/** Outcome of an answer. */
export function outcomeOfAnswer(answer: EngineAnswer): Outcome {
  const { data, pagination } = JSON.parse(
    typeof answer.body === 'string' ? answer.body : Buffer.from(answer.body).toString(),
  );
  const rows: readonly Record<string, unknown>[] | undefined = Array.isArray(data)
    ? data
    : undefined;
  const isHistory = rows?.every((row) => 'context' in row) ?? false;
  const seen: Seen = {
    etag: answer.etag,
    isThrottled: answer.throttledRetryAfterS > 0,
    vitals: rows === undefined ? vitalsOf(data) : undefined,
    marks: isHistory ? rows?.map(({ context }) => markIn(context)) : undefined,
    listed:
      rows === undefined || (isHistory && rows.length > 0)
        ? undefined
        : new Map(rows.map(({ id, name }) => [String(id), String(name)])),
    total: pagination?.total,
  };
  return { kind: 'answered', seen };
}

/** Outcome of an error. */
export function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof Fault)) throw error;
  if (error.reason === 'outcome_unknown') return { kind: 'superseded' };
  if (error.isOutcomeUnknown) return { kind: 'unknown' };
  return { kind: 'refused', code: error.code, reason: error.reason };
}

/** Text of cycle, energy and stress state, equal for all kinds of answers. */
export function vitalsText(cycle: number, energy: number, stress: string): string {
  return `${cycle} ${energy} ${stress}`;
}

function vitalsOf(data: Record<string, unknown>): string | undefined {
  const snapshot = (data['snapshot'] ?? data) as Record<string, unknown>;
  const cycle = snapshot['cycle'] ?? snapshot['cycle_count'];
  if (cycle === undefined) return undefined;
  const { energy_level: energy, stress_state: stress } = snapshot;
  return vitalsText(Number(cycle), Number(energy), String(stress));
}

function markIn(context: unknown): string {
  return String((context as Record<string, unknown>)['mark']);
}
