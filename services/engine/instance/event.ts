import type { Floor } from '#storage/ports/instances';
import type { ObservationInput } from '#wire/engine-messages';

/** An observation with its time. */
export type TimedObservation = ObservationInput & { readonly timestampMs: number };

/** The key under which an event's answer is stored, if the caller gave one (decision 22). */
export type AnswerKey = { readonly key: string; readonly fingerprint: string };

/** Keys and outcomes of the items of a batch (decision 280). */
export type KeyedItems = {
  /** Keys of the observations that were applied, as many as they. */
  readonly keys: readonly (AnswerKey | undefined)[];
  /** One status per item of the call, in input order. */
  readonly statuses: readonly ('applied' | 'replayed')[];
};

/** What can happen to an instance. */
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
  /** The rows up to a floor are gone, above the one before (decision 234). */
  | { readonly kind: 'trimmed'; readonly floor: Floor };

/** One committed event: the change, when, and under which key. Applying it is deterministic. */
export type InstanceEvent = {
  /** The model that the answer came from: running it again takes the same one (model 9). */
  readonly modelVersion: string;
  readonly change: InstanceChange;
  /** Server time of the commit in Unix milliseconds. */
  readonly atMs: number;
  readonly answerKey: AnswerKey | undefined;
};

/** Whether a change of this kind shows in the account's listing. */
export function isListedChange(kind: InstanceChange['kind']): boolean {
  return kind === 'created' || kind === 'renamed' || kind === 'removed';
}
