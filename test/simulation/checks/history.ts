import { Fault } from '#errors/fault';
import type { EngineAnswer, ObservationInput } from '#grpc/engine-messages';
import { NO_TAGS } from '#storage/ports/instances';

/** Change of tags: new tags, no tags (`{}`), or a call without the field. */
export type TagChange = 'set' | 'cleared' | 'absent';

/** Name and tags of an instance. */
export type Texts = {
  readonly name: string;
  /** Object of keys and values, as JSON text. Empty text: a listing did not know the tags. */
  readonly tagsJson: string;
};

/** Requested operation, reduced to the fields that the checks need. */
export type Requested =
  | {
      readonly kind: 'create';
      readonly tags: TagChange;
      readonly modeStrengths: readonly number[];
      readonly energyLevel: number;
    }
  | { readonly kind: 'rename'; readonly hasName: boolean; readonly tags: TagChange }
  | { readonly kind: 'remove' }
  | { readonly kind: 'process'; readonly observations: readonly ObservationInput[] }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' }
  | { readonly kind: 'read' }
  | { readonly kind: 'readHistory' }
  | { readonly kind: 'list' }
  /** An operator trims the observations with these marks. */
  | { readonly kind: 'trim'; readonly marks: readonly string[] };

/** Content of an answer, reduced to the fields that the checks need. */
export type Seen = {
  /** ETag of the answered version. */
  readonly etag: string;
  /** Whether the call was throttled and changed nothing. */
  readonly isThrottled: boolean;
  /** Cycle, energy and stress state after the call. */
  readonly vitals: string | undefined;
  /** Name and tags, in an answer that contains both. */
  readonly texts: Texts | undefined;
  /** Observation marks in a history answer, newest first. */
  readonly marks: readonly string[] | undefined;
  /** Names and tags in a listing, by instance id. */
  readonly listed: ReadonlyMap<string, Texts> | undefined;
  /** `pagination.total` of a history or a listing. */
  readonly total: number | undefined;
};

/** Outcome of a call after all attempts. */
export type Outcome =
  | { readonly kind: 'answered'; readonly seen: Seen }
  /** The call was applied, but its answer can no longer be replayed. */
  | { readonly kind: 'superseded' }
  /** Definite failure: the call is not applied and never will be. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string | undefined }
  | { readonly kind: 'unknown' };

/** One call. Times are true simulated times, in milliseconds. */
export type Call = {
  readonly id: number;
  readonly requested: Requested;
  readonly account: string;
  /** Empty for a list call, and for a create until the answer names the instance. */
  instance: string;
  /** ETag of `If-Match`, if any. */
  readonly ifMatch: string | undefined;
  readonly invokedMs: number;
  endedMs: number;
  outcome: Outcome;
};

/** Mark in an observation's context. Identifies the history row. */
export function markOf(callId: number, index: number): string {
  return `${callId}.${index}`;
}

/** Name that identifies the create or rename call that set the name. */
export function nameOf(callId: number): string {
  return `n${callId}`;
}

/** Tags that identify the create or rename call that set the tags, as JSON text. */
export function tagsOf(callId: number): string {
  return JSON.stringify({ call: nameOf(callId) });
}

/** Name that a call sets; undefined if the call leaves the name unchanged. */
export function nameSetBy({ id, requested }: Pick<Call, 'id' | 'requested'>): string | undefined {
  const { kind } = requested;
  return kind === 'create' || (kind === 'rename' && requested.hasName) ? nameOf(id) : undefined;
}

/** Tags that a call sets, as JSON text; undefined if the call leaves the tags unchanged. */
export function tagsSetBy({ id, requested }: Pick<Call, 'id' | 'requested'>): string | undefined {
  if (requested.kind !== 'create' && requested.kind !== 'rename') return undefined;
  if (requested.tags === 'set') return tagsOf(id);
  return requested.tags === 'cleared' || requested.kind === 'create' ? NO_TAGS : undefined;
}

/** All calls with their outcomes, ordered by start time. */
export class History {
  readonly calls: Call[] = [];
  #lastId = 0;

  /** Adds a call. Its outcome is unknown until the caller sets it. */
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

  /** Id of the next call, for marks and names inside its request. */
  get nextId(): number {
    return this.#lastId + 1;
  }
}

/** Converts an answer to an outcome. */
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
    texts: rows === undefined ? textsOf(data) : undefined,
    marks: isHistory ? rows?.map(({ context }) => markIn(context)) : undefined,
    listed:
      rows === undefined || (isHistory && rows.length > 0)
        ? undefined
        : new Map(rows.map((row) => [String(row['id']), listedTextsOf(row)])),
    total: pagination?.total,
  };
  return { kind: 'answered', seen };
}

/** Converts an error to an outcome. Throws errors other than `Fault` again. */
export function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof Fault)) throw error;
  if (error.reason === 'outcome_unknown') return { kind: 'superseded' };
  if (error.isOutcomeUnknown) return { kind: 'unknown' };
  return { kind: 'refused', code: error.code, reason: error.reason };
}

/** Cycle, energy and stress state as a text, the same for all kinds of answers. */
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

/** Texts of a listed row. A row without a name has a name that no call sets. */
function listedTextsOf({ name = '', tags }: Record<string, unknown>): Texts {
  return { name: String(name), tagsJson: tags === undefined ? '' : JSON.stringify(tags) };
}

function textsOf({ name, tags }: Record<string, unknown>): Texts | undefined {
  if (name === undefined || tags === undefined) return undefined;
  return { name: String(name), tagsJson: JSON.stringify(tags) };
}

function markIn(context: unknown): string {
  return String((context as Record<string, unknown>)['mark']);
}
