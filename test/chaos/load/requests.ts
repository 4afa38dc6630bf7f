import type { Chance } from '#test/chaos/faults/chance';
import type { Requested, SentObservation } from '#test/chaos/load/call-log';
import { markOf } from '#test/chaos/load/call-log';

/** Share of each kind of call. All other calls process a single observation. */
const SHARES = [
  ['create', 0.02],
  ['remove', 0.015],
  ['rename', 0.015],
  ['reset', 0.02],
  ['batch', 0.05],
  ['read', 0.08],
] as const;

/** Maximum observations per batch; the API allows 100. */
const BATCH_MAX = 12;

/** Interval between the observations of an instance, in milliseconds. */
const STEP_MS = 60_000;

/** Time from the first observation to the start of the run, in milliseconds. */
const BEFORE_MS = 200 * 24 * 60 * 60 * 1_000;

/** An instance whose id is known from the answer to its create. */
export type KnownInstance = {
  readonly id: string;
  readonly accountId: string;
  /** Observations sent so far, which determine the next timestamp. */
  sent: number;
  inFlight: number;
};

/** Generates random requests. */
export class Requests {
  readonly #chance: Chance;
  readonly #sinceMs: number;

  constructor(chance: Chance, wallMs: number) {
    this.#chance = chance;
    this.#sinceMs = Math.floor(wallMs) - BEFORE_MS;
  }

  /** Kind of the next call. */
  kind(): (typeof SHARES)[number][0] | 'process' {
    let left = this.#chance.next();
    for (const [kind, share] of SHARES) {
      left -= share;
      if (left < 0) return kind;
    }
    return 'process';
  }

  /** Request that creates an instance with the call id in its name. */
  create(callId: number): Extract<Requested, { kind: 'create' }> {
    const modeStrengths = Array.from({ length: 7 }, () => this.#hundredth());
    return { kind: 'create', name: `n${callId}`, modeStrengths, energyLevel: this.#hundredth() };
  }

  /** Request on an existing instance. */
  use(kind: ReturnType<Requests['kind']>, callId: number, instance: KnownInstance): Requested {
    switch (kind) {
      case 'create':
        return this.create(callId);
      case 'remove':
      case 'read':
        return { kind };
      case 'rename':
        return { kind, name: `n${callId}` };
      case 'reset':
        return { kind, mode: this.#chance.happens(0.5) ? 'initial' : 'default' };
      case 'process':
        return {
          ...PROCESS,
          isBatch: false,
          observations: [this.#observation(callId, 0, instance)],
        };
      case 'batch': {
        const count = 2 + this.#chance.below(BATCH_MAX - 1);
        const observations = Array.from({ length: count }, (_, index) =>
          this.#observation(callId, index, instance),
        );
        const isEveryStateWanted = this.#chance.happens(0.3);
        return { ...PROCESS, isBatch: true, isEveryStateWanted, observations };
      }
    }
  }

  #observation(callId: number, index: number, instance: KnownInstance): SentObservation {
    instance.sent += 1;
    return {
      mark: markOf(callId, index),
      mode: this.#chance.below(7),
      signal: this.#hundredth(),
      confidence: this.#hundredth(),
      timestampMs: this.#sinceMs + instance.sent * STEP_MS,
    };
  }

  #hundredth(): number {
    return this.#chance.below(101) / 100;
  }
}

const PROCESS = { kind: 'process', isEveryStateWanted: false } as const;
