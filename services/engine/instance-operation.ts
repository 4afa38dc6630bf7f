import type { ObservationInput } from '#wire/engine-messages';

/** An observation with its time settled. */
export type TimedObservation = ObservationInput & { readonly timestampMs: number };

/** The key under which an operation's answer is stored, if the caller gave one (decision 22). */
export type AnswerKey = { readonly key: string; readonly fingerprint: string };

type Common = {
  /** Server time of the commit in Unix milliseconds. */
  readonly atMs: number;
  /** Monotonic time of the commit; meaningless after recovery, where it is left out. */
  readonly monotonicMs: number | undefined;
  readonly answerKey: AnswerKey | undefined;
};

/** What can happen to an instance. Applying one is deterministic. */
export type InstanceOperation =
  | (Common & {
      readonly kind: 'created';
      readonly accountId: string;
      readonly name: string;
      readonly description: string;
      readonly modeStrengths: readonly number[];
      readonly energyLevel: number;
    })
  | (Common & {
      readonly kind: 'renamed';
      readonly name: string | undefined;
      readonly description: string | undefined;
    })
  | (Common & { readonly kind: 'removed' })
  | (Common & {
      readonly kind: 'observed';
      readonly observations: readonly TimedObservation[];
      readonly isBatch: boolean;
      readonly isEveryStateWanted: boolean;
    })
  | (Common & { readonly kind: 'reset'; readonly mode: 'initial' | 'default' });
