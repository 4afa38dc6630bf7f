import fc from 'fast-check';
import {
  type Append,
  type Conditional,
  type JournalHead,
  type JournalSlot,
  type JournalStore,
  NEWEST_SLOTS,
  SLOTS_UNDER_WAY_MAX,
} from '#storage/ports/journal';
import { recordsOf } from '#test/storage/contracts/journal-fixture';

/** A step on a journal. Appends are relative to the next slot. */
export type JournalStep =
  | { readonly kind: 'begin'; readonly address: string }
  | {
      readonly kind: 'append';
      /**
       * 0: the next slot; negative: a repeated append; positive: earlier slots are still in flight.
       */
      readonly offset: number;
      /** Distance of the low-water mark below the slot; undefined for no truncation. */
      readonly keep: number | undefined;
    }
  | { readonly kind: 'seal' }
  | { readonly kind: 'empty' };

/** Random histories of one journal: mostly new appends, few seals. */
export function arbitrarySteps(): fc.Arbitrary<JournalStep[]> {
  const append = fc.record({
    kind: fc.constant('append' as const),
    offset: fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: -3, max: 2 }) },
    ),
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

/** Runs a step on a real journal. Returns its answer, if any. */
export async function play(
  store: JournalStore,
  append: Append | undefined,
  incarnation: string,
  step: JournalStep,
): Promise<Conditional | undefined> {
  switch (step.kind) {
    case 'begin':
      return store.begin(incarnation, step.address);
    case 'append':
      if (append !== undefined) await store.append(append);
      return undefined;
    case 'seal':
      return store.seal(incarnation);
    case 'empty':
      await store.empty(incarnation);
      return undefined;
  }
}

type Row = JournalSlot & { readonly lowWaterMark: number };

/** Reference model of the port: a list of slots, a seal and an end. */
export class JournalModel {
  #address: string | undefined;
  #end: number | undefined;
  #isSealed = false;
  #rows: Row[] = [];
  #deletedBelow = 0;
  #newest = -1;
  readonly #sent = new Map<number, Append>();
  readonly #isClosedBySeal: boolean;

  /** `isClosedBySeal`: slots after the seal are dropped. */
  constructor(isClosedBySeal: boolean) {
    this.#isClosedBySeal = isClosedBySeal;
  }

  /** Append of a step. All appends to one slot are equal. */
  appendOf(incarnation: string, { offset, keep }: JournalStep & { kind: 'append' }): Append {
    const missing = this.#firstUnsent();
    const wanted = Math.max(0, this.#newest + 1 + offset);
    const slot = Math.min(wanted, missing + SLOTS_UNDER_WAY_MAX - 1);
    const before = this.#markBefore(slot);
    // A truncation requires that all earlier slots are written.
    const isTruncating = keep !== undefined && slot === missing && slot > this.#newest;
    const deleteBelow = isTruncating ? Math.max(before, slot - keep) : undefined;
    const lowWaterMark = deleteBelow ?? before;
    const fresh = { incarnation, slot, records: recordsOf(slot), lowWaterMark, deleteBelow };
    const append = this.#sent.get(slot) ?? fresh;
    this.#sent.set(slot, append);
    return append;
  }

  /** Runs a step. Returns the answer that the port promises. */
  play(step: JournalStep, append: Append | undefined): Conditional | undefined {
    switch (step.kind) {
      case 'begin':
        if (this.#address !== undefined) return { isApplied: false, head: this.head };
        this.#address = step.address;
        return { isApplied: true };
      case 'append':
        if (append !== undefined) this.#append(append);
        return undefined;
      case 'seal':
        return this.#seal();
      case 'empty':
        if (this.#end === undefined) return undefined;
        this.#address = undefined;
        this.#end = undefined;
        this.#rows = [];
        this.#deletedBelow = Number.POSITIVE_INFINITY;
        return undefined;
    }
  }

  get head(): JournalHead | undefined {
    if (this.#address === undefined) return undefined;
    const newest = this.#rows.at(-1);
    const next = this.#end ?? (newest?.slot ?? -1) + 1;
    const lowWaterMark = newest?.lowWaterMark ?? 0;
    return { address: this.#address, next, lowWaterMark, isSealed: this.#isSealed };
  }

  /** Slots in ascending order. */
  slots(): JournalSlot[] {
    return this.#rows.map(({ slot, records }) => ({ slot, records }));
  }

  #append({ slot, records, lowWaterMark, deleteBelow = 0 }: Append): void {
    this.#newest = Math.max(this.#newest, slot);
    if (this.#isClosedBySeal && this.#isSealed) return;
    const isNew = this.#rows.every((row) => row.slot !== slot) && slot >= this.#deletedBelow;
    if (isNew) this.#rows.push({ slot, records, lowWaterMark });
    this.#deletedBelow = Math.max(this.#deletedBelow, deleteBelow);
    this.#rows = this.#rows.filter((row) => row.slot >= this.#deletedBelow);
    this.#rows.sort((a, b) => a.slot - b.slot);
  }

  #seal(): Conditional {
    if (this.#address === undefined) return { isApplied: false, head: undefined };
    if (this.#end !== undefined) return { isApplied: false, head: this.head };
    this.#isSealed = true;
    this.#end = this.#firstMissing();
    return { isApplied: true };
  }

  #firstUnsent(): number {
    let slot = 0;
    while (this.#sent.has(slot)) slot += 1;
    return slot;
  }

  /** Low-water mark of the newest appended slot below `slot`. */
  #markBefore(slot: number): number {
    const below = [...this.#sent.keys()].filter((sent) => sent < slot);
    return this.#sent.get(Math.max(...below))?.lowWaterMark ?? 0;
  }

  #firstMissing(): number {
    const newest = this.#rows.at(-1);
    if (newest === undefined) return 0;
    const slots = this.#rows.map(({ slot }) => slot);
    let missing = Math.max(newest.lowWaterMark, newest.slot - NEWEST_SLOTS + 1);
    while (slots.includes(missing)) missing += 1;
    return missing;
  }
}
