import type { ObservationInput } from '#grpc/engine-messages';
import type { Floor } from '#storage/ports/instances';

/** An observation with its time. */
export type TimedObservation = ObservationInput & { readonly timestampMs: number };

/** The key under which an event's answer is stored, if the caller gave one (decision 22). */
export type AnswerKey = { readonly key: string; readonly fingerprint: string };

/** Keys and outcomes of the items of a batch (decision 280). */
export type KeyedItems = {
  /** Keys of the applied observations, one per observation. */
  readonly keys: readonly (AnswerKey | undefined)[];
  /** One status per item of the call, in input order. */
  readonly statuses: readonly ('applied' | 'replayed')[];
};

/** Change of an instance. */
export type InstanceChange =
  | {
      readonly kind: 'created';
      readonly accountId: string;
      readonly name: string;
      readonly description: string;
      readonly modeStrengths: readonly number[];
      readonly energyLevel: number;
    }
  | {
      readonly kind: 'renamed';
      readonly name: string | undefined;
      readonly description: string | undefined;
    }
  | { readonly kind: 'removed' }
  | {
      readonly kind: 'observed';
      readonly observations: readonly TimedObservation[];
      readonly isBatch: boolean;
      readonly isEveryStateWanted: boolean;
      /** Absent: no item of the batch has a key. */
      readonly items?: KeyedItems | undefined;
    }
  | { readonly kind: 'reset'; readonly mode: 'initial' | 'default' }
  /** The rows up to a floor are trimmed. The floor is above the one before (decision 234). */
  | { readonly kind: 'trimmed'; readonly floor: Floor };

/** Committed event: the change, its time and its key. Applying an event is deterministic. */
export type InstanceEvent = {
  /** Model that produced the answer. A replay uses the same model (model 9). */
  readonly modelVersion: string;
  readonly change: InstanceChange;
  /** Server time of the commit in Unix milliseconds. */
  readonly atMs: number;
  readonly answerKey: AnswerKey | undefined;
};

/** Whether a change of this kind is visible in the account's listing. */
export function isListedChange(kind: InstanceChange['kind']): boolean {
  return kind === 'created' || kind === 'renamed' || kind === 'removed';
}
