/** What is known of a journal from outside. Source: decision 191. */
export type JournalHead = {
  /** `host:port` of the process that writes it. */
  readonly address: string;
  /** The slot after the newest that was found; once the journal's end is decided, that end. */
  readonly next: number;
  /** Slots below are not needed any more. */
  readonly lowWaterMark: number;
  /** Whether nothing more can be acknowledged. */
  readonly isSealed: boolean;
};

/** One slot as its writer sends it, first and every time again: a slot's bytes never change. */
export type Append = {
  readonly incarnation: string;
  readonly slot: number;
  readonly records: Uint8Array;
  /** Slots below are not needed any more. At most `slot`. */
  readonly lowWaterMark: number;
  /**
   * Slots below are deleted along with this write; undefined deletes none, as most do: each is a
   * tombstone. At most a mark that an acknowledged slot names, so that no reader finds the deletion
   * without finding a mark as high.
   */
  readonly deleteBelow: number | undefined;
};

/** A group as it stands in its slot. */
export type JournalSlot = { readonly slot: number; readonly records: Uint8Array };

/**
 * What came of a conditional write. `head` is what stands there after a refusal, undefined when
 * there is no such journal.
 */
export type Conditional =
  | { readonly isApplied: true }
  | { readonly isApplied: false; readonly head: JournalHead | undefined };

/**
 * The journals of all incarnations. A slot is written plainly, by its only writer, which
 * acknowledges it once a look that began after the write's answer has found no seal; a node that seals
 * a journal then finds the slot (decision 191). Methods reject with `service_unavailable` when the
 * store gives no answer; with `isOutcomeUnknown` a write may have happened or may yet happen, at
 * any later time, in a part of the replicas. They reject with `internal` when the store refuses for
 * good (too large, a broken query).
 */
export interface JournalStore {
  /** Begins a journal at slot 0, not sealed. Not applied when the incarnation has one. */
  begin(incarnation: string, address: string): Promise<Conditional>;
  /** Writes a slot, of which a quorum has it then. May be repeated, with the same bytes. */
  append(append: Append): Promise<void>;
  /** Whether there is a seal: true for good after a `seal` was fulfilled that ended before this began. */
  isSealed(incarnation: string): Promise<boolean>;
  /**
   * Seals a journal and decides its end, once: no slot from there on was or will be acknowledged,
   * and all between the low-water mark and the end can be read. Not applied when the end was decided
   * already or there is no such journal.
   */
  seal(incarnation: string): Promise<Conditional>;
  /**
   * The head now: `serial` sees every journal that was begun and every end that was decided;
   * `quorum` is cheap and may lag behind those under way.
   */
  readHead(incarnation: string, read: 'serial' | 'quorum'): Promise<JournalHead | undefined>;
  /** The slots `from` to before `to` that are there, in ascending order. */
  readSlots(incarnation: string, from: number, to: number): Promise<JournalSlot[]>;
  /** Every incarnation that has a journal, and since when its end is decided (Unix milliseconds). */
  list(): Promise<{ incarnation: string; sealedAtMs: number | undefined }[]>;
  /** Takes a journal away whose end is decided, with all that is left in it; else does nothing. */
  empty(incarnation: string): Promise<void>;
}
