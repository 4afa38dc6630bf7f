import assert from 'node:assert/strict';
import type { EngineCommand, ObservationInput, TagFields } from '#grpc/engine-messages';
import {
  markOf,
  nameOf,
  nameSetBy,
  type Requested,
  type TagChange,
  tagsSetBy,
} from '#test/simulation/checks/history';
import { LISTED_MAX } from '#test/simulation/checks/listings';
import type { SeededRandom } from '#test/simulation/seeded-random';

/** Callers' timestamps start here (Unix ms), long before any instance is created. */
const RECORDED_DAY_MS = Date.UTC(2020, 0, 1);

/** Maximum page size of a history. Source: decision 162. */
const HISTORY_MAX = 1_000;

/** Share of each kind of call. All other calls process a single observation. */
const SHARES = {
  batch: 0.06,
  read: 0.16,
  readHistory: 0.03,
  list: 0.03,
  rename: 0.04,
  reset: 0.03,
  remove: 0.008,
} as const;

/** Tags of creates, by call id. */
const CREATED_TAGS: readonly TagChange[] = ['set', 'set', 'absent', 'cleared'];

/** Fields of renames, by call id. Some renames change only the name or only the tags. */
const RENAMES: readonly Extract<Requested, { kind: 'rename' }>[] = [
  { kind: 'rename', hasName: true, tags: 'set' },
  { kind: 'rename', hasName: true, tags: 'absent' },
  { kind: 'rename', hasName: false, tags: 'set' },
  { kind: 'rename', hasName: true, tags: 'cleared' },
  { kind: 'rename', hasName: false, tags: 'cleared' },
];

/** Generates random requests whose observations have increasing timestamps. */
export class CallerRequests {
  readonly #random: SeededRandom;
  #recordedMs = RECORDED_DAY_MS;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Request that creates an instance; `id` is the call id. */
  create(id: number): Extract<Requested, { kind: 'create' }> {
    const modeStrengths = Array.from({ length: 7 }, () => this.#random.whole(0, 10) / 10);
    const energyLevel = this.#random.whole(3, 10) / 10;
    return { kind: 'create', tags: takenBy(CREATED_TAGS, id), modeStrengths, energyLevel };
  }

  /** Request on an existing instance; `id` is the call id. */
  next(id: number): Requested {
    let drawn = this.#random.unit();
    for (const [kind, share] of Object.entries(SHARES)) {
      if (drawn < share) return this.#requested(kind as keyof typeof SHARES, id);
      drawn -= share;
    }
    return { kind: 'process', observations: [this.#observation(id, 0)] };
  }

  #requested(kind: keyof typeof SHARES, id: number): Requested {
    switch (kind) {
      case 'batch': {
        const count = this.#random.whole(2, 5);
        const observations = Array.from({ length: count }, (_, index) =>
          this.#observation(id, index),
        );
        return { kind: 'process', observations };
      }
      case 'reset':
        return { kind, mode: this.#random.happens(0.5) ? 'initial' : 'default' };
      case 'read':
      case 'readHistory':
      case 'list':
      case 'remove':
        return { kind };
      case 'rename':
        return takenBy(RENAMES, id);
    }
  }

  /** Later calls have later timestamps, so that only a reordered call is throttled. */
  #observation(id: number, index: number): ObservationInput {
    this.#recordedMs += this.#random.whole(1_000, 600_000);
    return {
      mode: this.#random.whole(0, 6),
      signal: this.#random.whole(0, 100) / 100,
      confidence: this.#random.whole(50, 100) / 100,
      contextJson: JSON.stringify({ mark: markOf(id, index) }),
      timestampMs: this.#recordedMs,
    };
  }
}

/** Item of a list for a call. Draws no number, so that other draws stay the same. */
function takenBy<Item>(items: readonly Item[], id: number): Item {
  const item = items[id % items.length];
  assert(item !== undefined, 'the list is not empty');
  return item;
}

/** Ways to read an instance. The entries of a way are its weight. */
const READS = ['readSnapshot', 'readSnapshot', 'readInstance', 'readContract'] as const;

/** Converts a request to an engine command. */
export function commandOf(requested: Requested, id: number, random: SeededRandom): EngineCommand {
  switch (requested.kind) {
    case 'create': {
      const { modeStrengths, energyLevel } = requested;
      const texts = { name: nameOf(id), description: '', ...tagFieldsOf(id, requested) };
      return { kind: 'create', ...texts, modeStrengths, energyLevel };
    }
    case 'rename': {
      const texts = { name: nameSetBy({ id, requested }), description: undefined };
      return { kind: 'rename', ...texts, ...tagFieldsOf(id, requested) };
    }
    case 'remove':
      return { kind: 'remove' };
    case 'process': {
      const { observations } = requested;
      const isBatch = observations.length > 1;
      return { kind: 'process', observations, isBatch, isEveryStateWanted: false };
    }
    case 'reset':
      return { kind: 'reset', mode: requested.mode };
    case 'read':
      return { kind: random.pick(READS) };
    case 'readHistory':
      return { kind: 'readHistory', limit: HISTORY_MAX, offset: 0, isEveryGeneration: true };
    case 'trim':
      throw new Error('only an operator trims; a caller cannot');
    case 'list':
      return { kind: 'list', limit: LISTED_MAX, offset: 0, sort: 'created_at', order: 'asc' };
  }
}

/** Fields of a command for the tags of a request. */
function tagFieldsOf(id: number, requested: Extract<Requested, { tags: TagChange }>): TagFields {
  const tagsJson = requested.tags === 'absent' ? undefined : tagsSetBy({ id, requested });
  return tagsJson === undefined ? {} : { tagsJson };
}
