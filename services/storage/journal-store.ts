/** What stands in front of a journal: the static columns of its partition. Source: architecture 3.1. */
export type JournalHead = {
  /** `host:port` of the process that writes it. */
  readonly address: string;
  /** The slot that the next append takes. */
  readonly next: number;
  /** Slots below are not needed any more. */
  readonly lowWaterMark: number;
  /** Whether nothing can be appended any more. */
  readonly isSealed: boolean;
};

/** One conditional append. */
export type Append = {
  readonly incarnation: string;
  readonly slot: number;
  readonly records: Uint8Array;
  /** Where the low-water mark moves with this append, and slots below are deleted; undefined leaves it. */
  readonly lowWaterMark: number | undefined;
};

/** A group as it stands in its slot. */
export type JournalSlot = { readonly slot: number; readonly records: Uint8Array };

/**
 * What came of a conditional write. `head` is what stands there after a refusal, undefined when the
 * store names no columns.
 */
export type Conditional =
  | { readonly isApplied: true }
  | { readonly isApplied: false; readonly head: JournalHead | undefined };

/**
 * The journals of all incarnations: what has happened, appended under a condition that only one
 * writer can meet. Methods reject with `service_unavailable` when the store gives no answer; with
 * `isOutcomeUnknown` a write may have happened or may yet happen, at any later time. They reject
 * with `internal` when the store refuses for good (too large, a broken query).
 */
export interface JournalStore {
  /** Begins a journal at slot 0, not sealed. Not applied when the incarnation has one. */
  begin(incarnation: string, address: string): Promise<Conditional>;
  /** Appends if `slot` is next and the journal is not sealed. */
  append(append: Append): Promise<Conditional>;
  /** Seals, once; not applied when it is sealed already or there is no such journal. */
  seal(incarnation: string): Promise<Conditional>;
  /**
   * The head now: `serial` sees every write that was applied, and completes one under way;
   * `quorum` is cheap and may lag behind writes under way.
   */
  readHead(incarnation: string, read: 'serial' | 'quorum'): Promise<JournalHead | undefined>;
  /** The slots `from` to before `to` that are there, in ascending order. */
  readSlots(incarnation: string, from: number, to: number): Promise<JournalSlot[]>;
  /** Every incarnation that has a journal, and since when it is sealed (Unix milliseconds). */
  list(): Promise<{ incarnation: string; sealedAtMs: number | undefined }[]>;
  /** Takes a sealed journal away, with all that is left in it. Does nothing to one that is not sealed. */
  empty(incarnation: string): Promise<void>;
}
