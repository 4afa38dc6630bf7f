import fc from 'fast-check';
import type { Conditional, JournalHead, JournalSlot, JournalStore } from '#storage/journal-store';

/** One thing that may be done to a journal. Appends say where they are, seen from the next slot. */
export type JournalStep =
  | { readonly kind: 'begin'; readonly address: string }
  | {
      readonly kind: 'append';
      /** 0: at the next slot, as a journal counts them that is never emptied. */
      readonly offset: number;
      readonly records: Uint8Array;
      /** How far below the slot the low-water mark comes to stand; undefined leaves it. */
      readonly keep: number | undefined;
    }
  | { readonly kind: 'seal' }
  | { readonly kind: 'empty' };

/** Histories of one journal in which most appends fit and seals are rare. */
export function arbitrarySteps(): fc.Arbitrary<JournalStep[]> {
  const append = fc.record({
    kind: fc.constant('append' as const),
    offset: fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: -3, max: 3 }) },
    ),
    records: fc.uint8Array({ maxLength: 8 }),
    keep: fc.option(fc.nat(4), { nil: undefined, freq: 3 }),
  });
  const begin = fc.record({
    kind: fc.constant('begin' as const),
    address: fc.constantFrom('127.0.0.1:1', '127.0.0.1:2'),
  });
  const step = fc.oneof(
    { weight: 12, arbitrary: append },
    { weight: 2, arbitrary: begin },
    { weight: 1, arbitrary: fc.constant({ kind: 'seal' } as const) },
    { weight: 1, arbitrary: fc.constant({ kind: 'empty' } as const) },
  );
  return fc
    .tuple(begin, fc.array(step, { minLength: 5, maxLength: 25 }))
    .map(([first, rest]) => [first, ...rest]);
}

/** The slot and the the low-water mark of an append, of which both sides count the same next slot. */
function placeOf(step: JournalStep & { kind: 'append' }, next: number) {
  const slot = Math.max(0, next + step.offset);
  return {
    slot,
    lowWaterMark: step.keep === undefined ? undefined : Math.max(0, slot - step.keep),
  };
}

/** Does a step to a real journal; the answer of an append or a seal, undefined for an emptying. */
export async function play(
  store: JournalStore,
  incarnation: string,
  step: JournalStep,
): Promise<Conditional | undefined> {
  switch (step.kind) {
    case 'begin':
      return store.begin(incarnation, step.address);
    case 'append': {
      const next = (await store.readHead(incarnation, 'serial'))?.next ?? 0;
      return store.append({ incarnation, records: step.records, ...placeOf(step, next) });
    }
    case 'seal':
      return store.seal(incarnation);
    case 'empty':
      await store.empty(incarnation);
      return undefined;
  }
}

/** What the port promises, in the plainest way: one list of slots and a head. */
export class JournalModel {
  head: JournalHead | undefined;
  #slots: JournalSlot[] = [];

  /** Does a step; the answer that the port promises for it. */
  play(step: JournalStep): Conditional | undefined {
    const { head } = this;
    switch (step.kind) {
      case 'begin':
        if (head !== undefined) return { isApplied: false, head };
        this.head = { address: step.address, next: 0, lowWaterMark: 0, isSealed: false };
        return { isApplied: true };
      case 'append':
        return this.#append(step);
      case 'seal':
        if (head === undefined || head.isSealed) return { isApplied: false, head };
        this.head = { ...head, isSealed: true };
        return { isApplied: true };
      case 'empty':
        if (head?.isSealed !== true) return undefined;
        this.head = undefined;
        this.#slots = [];
        return undefined;
    }
  }

  /** The slots that are there, in ascending order. */
  slots(): JournalSlot[] {
    return this.#slots;
  }

  #append(step: JournalStep & { kind: 'append' }): Conditional {
    const { head } = this;
    const { slot, lowWaterMark } = placeOf(step, head?.next ?? 0);
    if (head === undefined || head.isSealed || slot !== head.next)
      return { isApplied: false, head };
    const kept = this.#slots.filter(
      (other) => lowWaterMark === undefined || other.slot >= lowWaterMark,
    );
    this.#slots = [...kept, { slot, records: step.records }];
    this.head = { ...head, next: slot + 1, lowWaterMark: lowWaterMark ?? head.lowWaterMark };
    return { isApplied: true };
  }
}
