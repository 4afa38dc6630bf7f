import { Fault } from '#errors/fault';
import type { EngineAnswer, ObservationInput } from '#grpc/engine-messages';

/** What a caller wanted, as far as the checks care. */
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
  /** By an operator: the observations with these marks, and all before them, are to go. */
  | { readonly kind: 'trim'; readonly marks: readonly string[] };

/** What an answer said, as far as the checks care. */
export type Seen = {
  /** The ETag: it names the version that the answer rests on. */
  readonly etag: string;
  /** Whether the call changed something, as opposed to having been throttled. */
  readonly isThrottled: boolean;
  /** Cycle, energy and stress state after the call. */
  readonly vitals: string | undefined;
  /** Marks of the observations of a history, newest first, and its `total`. */
  readonly marks: readonly string[] | undefined;
  /** Ids and names of a listing. */
  readonly listed: ReadonlyMap<string, string> | undefined;
  readonly total: number | undefined;
};

/** How a call ended, over all tries of its caller. */
export type Outcome =
  | { readonly kind: 'answered'; readonly seen: Seen }
  /** It has happened, and the answer cannot be given any more. */
  | { readonly kind: 'superseded' }
  /** A definite failure: it has not happened and never will. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string | undefined }
  | { readonly kind: 'unknown' };

/** One call of one caller. Times are true times of the world, in milliseconds. */
export type Call = {
  readonly id: number;
  readonly requested: Requested;
  readonly account: string;
  /** Empty for a list, and for a create until its instance is known. */
  instance: string;
  /** The version that the call was bound to by `If-Match`, as its ETag. */
  readonly ifMatch: string | undefined;
  readonly invokedMs: number;
  endedMs: number;
  outcome: Outcome;
};

/** The mark that an observation carries in its context, so that its row in the history is known. */
export function markOf(callId: number, index: number): string {
  return `${callId}.${index}`;
}

/** The name that a call gives its instance. */
export function nameOf(callId: number): string {
  return `n${callId}`;
}

/** What callers did and what they were answered, in the order in which they began. */
export class History {
  readonly calls: Call[] = [];
  #lastId = 0;

  /** Notes that a caller begins. Until its end the outcome is unknown. */
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

  /** The id that the next call gets, for marks and names that must be known before. */
  get nextId(): number {
    return this.#lastId + 1;
  }
}

/** What an answer means. */
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

/** What a refusal means. */
export function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof Fault)) throw error;
  if (error.reason === 'outcome_unknown') return { kind: 'superseded' };
  if (error.isOutcomeUnknown) return { kind: 'unknown' };
  return { kind: 'refused', code: error.code, reason: error.reason };
}

/** Cycle, energy and stress state as one text, whichever answer they stand in. */
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
