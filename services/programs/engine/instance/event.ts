import type { ForkStart, ObservationInput, TagFields } from '#grpc/engine-messages';
import type { Floor } from '#storage/ports/instances';

/** An observation with its time. */
export type TimedObservation = ObservationInput & { readonly timestampMs: number };

/** Idempotency key for the event's answer, if the caller sent a key (decision 22). */
export type AnswerKey = { readonly key: string; readonly fingerprint: string };

/** Batch items' idempotency keys and outcomes (decision 280). */
export type KeyedItems = {
  /** Keys for applied observations, one entry per observation. */
  readonly keys: readonly (AnswerKey | undefined)[];
  /** Statuses for all batch items, in input order. */
  readonly statuses: readonly ('applied' | 'replayed')[];
};

/** Change of an instance, without its time, model version and idempotency key. */
export type InstanceChange =
  | (TagFields & {
      readonly kind: 'created';
      readonly accountId: string;
      readonly name: string;
      readonly description: string;
      readonly modeStrengths: readonly number[];
      readonly energyLevel: number;
    })
  /** Created in a past state of another instance (decision 318). */
  | (TagFields & {
      readonly kind: 'forked';
      readonly accountId: string;
      readonly name: string;
      readonly description: string;
      readonly start: ForkStart;
    })
  | (TagFields & {
      readonly kind: 'renamed';
      readonly name: string | undefined;
      readonly description: string | undefined;
    })
  | { readonly kind: 'removed' }
  | {
      readonly kind: 'observed';
      readonly observations: readonly TimedObservation[];
      readonly isBatch: boolean;
      readonly isEveryStateWanted: boolean;
      /** Whether the answer is brief. Not recorded: a replay answers the whole state. */
      readonly isBrief?: boolean | undefined;
      /** Keys and outcomes of the batch items. Absent: no batch item has a key. */
      readonly items?: KeyedItems | undefined;
    }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' }
  /** Rows up to the floor are trimmed. Each floor is above the previous floor (decision 234). */
  | { readonly kind: 'trimmed'; readonly floor: Floor };

/** A committed event: change, time and idempotency key. Applying an event is deterministic. */
export type InstanceEvent = {
  /** Model version that produced the answer. A replay uses the same model (model 9). */
  readonly modelVersion: string;
  readonly change: InstanceChange;
  /** Server time at the commit, in Unix milliseconds. */
  readonly atMs: number;
  readonly answerKey: AnswerKey | undefined;
};

/** Texts of a head or a change. */
export type Texts = { readonly [text in 'name' | 'description' | 'tagsJson']?: string | undefined };

/** Whether a change sets tags, and neither name nor description. */
export function isOfTags({ name, description, tagsJson }: Texts): boolean {
  return tagsJson !== undefined && name === undefined && description === undefined;
}

/** Whether a change is the observation of a single call. */
export function isSingle(change: InstanceChange): boolean {
  return change.kind === 'observed' && !change.isBatch;
}

/** Whether this kind affects the account's listing. */
export function isListedChange(kind: InstanceChange['kind']): boolean {
  return kind === 'created' || kind === 'forked' || kind === 'renamed' || kind === 'removed';
}
