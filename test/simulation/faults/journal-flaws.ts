import { encodeGroup, linesOf } from '#actor-runtime/record-codec';
import type { Append, JournalSteps, NewestSlots } from '#storage/ports/journal';

/** Journal operations of a process. A `JournalFlaw` replaces some of these operations. */
export type SimulatedSteps = JournalSteps & {
  /** Seal check of a writer: like `hasSeal`, but asks only `replicas` replicas if given. */
  readonly look: (incarnation: string, replicas?: number) => Promise<boolean>;
  /** Writes the seal. Fulfils when a quorum, or `replicas` replicas if given, has the seal. */
  readonly putSeal: (incarnation: string, replicas?: number) => Promise<void>;
};

/**
 * A deliberate flaw: replaces journal operations of a process. A flaw with its own `decideEnd` must
 * pass each decided end to `decided`.
 */
export type JournalFlaw = (
  steps: SimulatedSteps,
  decided: (incarnation: string, end: number) => void,
) => SimulatedSteps;

/** A sealer writes no seal. Readers treat a decided end as a seal. */
export const noSeal: JournalFlaw = (steps) => ({
  ...steps,
  putSeal: async () => undefined,
  hasSeal: async (incarnation) => (await steps.readEntry(incarnation, 'serial'))?.end !== undefined,
});

/** A writer acknowledges without checking for a seal. */
export const noLook: JournalFlaw = (steps) => ({ ...steps, look: async () => false });

/** A writer checks for a seal before writing instead of after. */
export const lookFirst: JournalFlaw = (steps) => {
  const found = new Set<string>();
  return {
    ...steps,
    async append(append) {
      if (await steps.look(append.incarnation)) found.add(append.incarnation);
      await steps.append(append);
    },
    look: async (incarnation) => found.has(incarnation),
  };
};

/** A writer checks for a seal concurrently with writing. */
export const lookMeanwhile: JournalFlaw = (steps) => {
  const found = new Set<string>();
  return {
    ...steps,
    async append(append) {
      const { incarnation } = append;
      const [isFound] = await Promise.all([steps.look(incarnation), steps.append(append)]);
      if (isFound) found.add(incarnation);
    },
    look: async (incarnation) => found.has(incarnation),
  };
};

/** A writer checks for a seal on one replica only. */
export const lookAtOne: JournalFlaw = (steps) => ({
  ...steps,
  look: (incarnation) => steps.look(incarnation, 1),
});

/** A sealer continues when one replica has the seal, instead of a quorum. */
export const sealAtOne: JournalFlaw = (steps) => ({
  ...steps,
  putSeal: (incarnation) => steps.putSeal(incarnation, 1),
});

/** A writer acknowledges a slot as soon as a later slot is written. */
export const outOfOrder: JournalFlaw = (steps) => {
  const passed = perJournal(() => new Passed());
  return {
    ...steps,
    append(append) {
      const { slot, incarnation } = append;
      const slots = passed(incarnation);
      const written = steps.append(append).then(() => slots.written(slot));
      return Promise.race([written, slots.when(slot + 1)]);
    },
  };
};

/**
 * A writer changes the content of a slot between attempts. While a slot is retried, the next group
 * is merged into that slot, sorted by actor. The slot of the merged group stays empty.
 */
export const composedAgain: JournalFlaw = (steps) => {
  const retriedOf = perJournal(() => new Map<number, Retried>());
  const empty = encodeGroup([]);
  const write = async (append: Append): Promise<void> => {
    const { slot, incarnation } = append;
    const retries = retriedOf(incarnation);
    const retried = retries.get(slot);
    const taken = [...(retried?.joined ?? [])];
    const lines = [...linesOf(append.records), ...taken.flatMap((joined) => joined.lines)];
    const records = retried === undefined ? append.records : encodeGroup(lines.toSorted(byActor));
    try {
      await steps.append({ ...append, records });
    } catch (error) {
      if (retried === undefined) retries.set(slot, { joined: [] });
      throw error;
    }
    retries.delete(slot);
    for (const joined of retried?.joined ?? []) joined.settle(taken.includes(joined));
  };
  return {
    ...steps,
    async append(append) {
      const { slot, records, incarnation } = append;
      const retries = retriedOf(incarnation);
      const before = retries.get(slot - 1);
      if (before === undefined || retries.has(slot)) return write(append);
      const isTaken = await new Promise<boolean>((settle) => {
        before.joined.push({ lines: linesOf(records), settle });
      });
      return write(isTaken ? { ...append, records: empty } : append);
    },
  };
};

/** Groups that wait to be merged into a retried slot. */
type Retried = {
  readonly joined: {
    readonly lines: readonly string[];
    readonly settle: (isTaken: boolean) => void;
  }[];
};

/** Resolves waiters of a slot when the slot or a later slot is written. */
class Passed {
  #newest = -1;
  #waiting: { readonly slot: number; readonly resolve: () => void }[] = [];

  written(slot: number): void {
    this.#newest = Math.max(this.#newest, slot);
    const waiting = this.#waiting;
    this.#waiting = waiting.filter((other) => other.slot > this.#newest);
    for (const { slot: awaited, resolve } of waiting) if (awaited <= this.#newest) resolve();
  }

  when(slot: number): Promise<void> {
    if (slot <= this.#newest) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ slot, resolve }));
  }
}

/** Keeps separate state for each journal. */
function perJournal<State>(make: () => State): (incarnation: string) => State {
  const states = new Map<string, State>();
  return (incarnation) => {
    const state = states.get(incarnation) ?? make();
    states.set(incarnation, state);
    return state;
  };
}

/** Each sealer decides the end alone, without a compare-and-set on the stored entry. */
export const endNotDecided: JournalFlaw = (steps, decided) => {
  const ends = new Map<string, number>();
  return {
    ...steps,
    async readEntry(incarnation, read) {
      const entry = await steps.readEntry(incarnation, read);
      return entry && { ...entry, end: ends.get(incarnation) };
    },
    async decideEnd(incarnation, end) {
      ends.set(incarnation, end);
      decided(incarnation, end);
      return true;
    },
  };
};

/** A sealer reads the slots before it writes the seal. */
export const readFirst: JournalFlaw = (steps) => {
  const read = new Map<string, NewestSlots | undefined>();
  return {
    ...steps,
    async putSeal(incarnation) {
      read.set(incarnation, await steps.readNewestSlots(incarnation));
      await steps.putSeal(incarnation);
    },
    async readNewestSlots(incarnation) {
      const before = read.get(incarnation);
      read.delete(incarnation);
      return before ?? (await steps.readNewestSlots(incarnation));
    },
  };
};

/** A sealer decides the slot after the newest slot as the end, even with a gap before it. */
export const gapsIgnored: JournalFlaw = (steps) => {
  const newest = new Map<string, number>();
  return {
    ...steps,
    async readNewestSlots(incarnation) {
      const found = await steps.readNewestSlots(incarnation);
      newest.set(incarnation, found?.slot ?? -1);
      return found;
    },
    decideEnd: (incarnation, end) => {
      return steps.decideEnd(incarnation, Math.max(end, (newest.get(incarnation) ?? -1) + 1));
    },
  };
};

function byActor(one: string, other: string): number {
  const [a = ''] = one.split(',', 2).slice(1);
  const [b = ''] = other.split(',', 2).slice(1);
  return a < b ? -1 : Number(a > b);
}
