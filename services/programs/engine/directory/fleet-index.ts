import assert from 'node:assert/strict';
import { type Facets, FlagCounts } from '#engine/directory/flag-counts';
import { FleetColumns, type IndexedRow, UNKNOWN_TAGS } from '#engine/directory/fleet-columns';
import { type Matches, matchesIn } from '#engine/directory/fleet-matches';
import { TagSets } from '#engine/directory/tag-sets';
import type { InstanceFilter } from '#grpc/list-cursor';
import type { Flags } from '#identity/transitions';

/** Memory of an id in a map, in bytes. */
const ID_BYTES = 120;

/**
 * Maximum number of instances whose changes are remembered before their listing rows arrive. A row
 * arrives within 10 s, the maximum time of a call.
 */
const AHEAD_MAX = 4_096;

/** Indexed values of an instance at one version, from its owner. */
export type IndexedValues = {
  readonly version: number;
  readonly flags: Flags;
  /** Time of the newest transition that moves it (`isNoted`), in Unix milliseconds. */
  readonly changedAtMs: number;
  /** Object of keys and values, as JSON text. */
  readonly tagsJson: string;
};

/** Values of an instance in an index, with their versions. */
export type HeldValues = {
  /** Version of the flags and of the time. */
  readonly flagsVersion: number;
  readonly flags: Flags;
  readonly changedAtMs: number;
  readonly tagsVersion: number;
  /** Undefined: unknown. */
  readonly tagsJson: string | undefined;
};

/** Flags of an instance after a change. */
export type FlagsChange = {
  readonly version: number;
  readonly flags: Flags;
  /** Undefined: the change does not move the time. */
  readonly changedAtMs: number | undefined;
};

/**
 * An instance that must be read: since when, in Unix milliseconds, and the number of its listing
 * row.
 */
type Unread = { readonly atMs: number; readonly put: number };

/** Position in the feed up to which an index has all changes. */
export type IndexedUntil = {
  /** Position of the next row of the feed. */
  readonly position: number;
  /** Digest of the row before the position; 0: unknown. */
  readonly digest: number;
  /** Wall-clock time at which the feed had no further row, in Unix milliseconds. */
  readonly atMs: number;
};

/**
 * Index of an account's instances: flags, time of the newest change and tags, in columns with a slot
 * per instance (decision 325). Every value has the version of its instance, and a lower version
 * never replaces a higher one, so changes may arrive repeatedly and in any order.
 *
 * A query reads whole columns in one step, which takes a few milliseconds for a million instances.
 */
export class FleetIndex {
  readonly #columns = new FleetColumns();
  readonly #tagSets = new TagSets();
  readonly #counts = new FlagCounts();
  /** Changes of instances whose listing rows have not arrived. */
  readonly #ahead = new Map<string, FlagsChange>();
  /** Instances whose values must be read. */
  readonly #unread = new Map<string, Unread>();
  #puts = 0;
  readonly #unreadable = new Set<string>();
  #walkedTo = '';
  #isWalked = false;
  #isComplete = false;
  #until: IndexedUntil;

  constructor(until: IndexedUntil) {
    this.#until = until;
  }

  /** Whether the values of all instances have been read once. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /**
   * Last id that the walk has reached. The walk goes once through the rows in the order of their ids,
   * and marks them as unread. Undefined: the walk has ended.
   */
  get walkedTo(): string | undefined {
    return this.#isWalked ? undefined : this.#walkedTo;
  }

  /** Number of listing rows so far. A read that begins now has the rows up to this number. */
  get puts(): number {
    return this.#puts;
  }

  /** Number of instances whose values must be read. */
  get unread(): number {
    return this.#unread.size;
  }

  get until(): IndexedUntil {
    return this.#until;
  }

  /** Number of instances whose stored state is damaged. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  /** Whether the tags need more memory than an account may use. */
  get isTooLarge(): boolean {
    return this.#tagSets.isTooLarge;
  }

  /** Memory in bytes. */
  get bytes(): number {
    const ids = this.#ahead.size + this.#unread.size + this.#unreadable.size;
    return this.#columns.bytes + ids * ID_BYTES + this.#tagSets.bytes;
  }

  /**
   * Continues the walk with the next rows. Without rows, the walk ends. `storedOf`: values of a
   * stored index, if there are any.
   */
  walk(
    rows: readonly IndexedRow[],
    nowMs: number,
    storedOf?: (row: IndexedRow) => HeldValues | undefined,
  ): void {
    const last = rows.at(-1);
    if (last === undefined) this.#isWalked = true;
    else this.#walkedTo = last.instanceId;
    for (const row of rows) {
      const slot = this.#columns.place(row);
      const values = storedOf?.(row);
      if (values !== undefined) this.#setStored(slot, row, values);
      this.#note(row, nowMs);
    }
  }

  /** Ends the build. The walk must have ended, and no instance may be unread. */
  complete(): void {
    assert(this.#isWalked && this.#unread.size === 0, 'a complete index has read every instance');
    this.#isComplete = true;
  }

  /** Instances that wait for a read, longest waiting first, at most `count`. */
  unreadIds(count: number): string[] {
    return this.#unread.keys().take(count).toArray();
  }

  /** As `unreadIds`, of those that wait since `sinceMs` or longer. */
  unreadSince(sinceMs: number, count: number): string[] {
    return this.unreadIds(count).filter((id) => (this.#unread.get(id)?.atMs ?? 0) <= sinceMs);
  }

  /** Lets other instances be read before these, whose owners have not answered. */
  postpone(ids: Iterable<string>): void {
    for (const id of ids) {
      const unread = this.#unread.get(id);
      if (unread === undefined) continue;
      this.#unread.delete(id);
      this.#unread.set(id, unread);
    }
  }

  /**
   * Takes a new or changed row of the listing, with the tags at its version if they are known. The
   * walk reads rows that it has not reached.
   */
  put(row: IndexedRow, tagsJson: string | undefined, nowMs: number): void {
    const { instanceId, version } = row;
    if (!this.#isWalked && instanceId > this.#walkedTo && !this.#columns.isPlaced(row)) return;
    this.#columns.place(row);
    this.#puts += 1;
    this.#unread.delete(instanceId);
    this.#unreadable.delete(instanceId);
    const ahead = this.#ahead.get(instanceId);
    if (ahead !== undefined) this.#setChange(row.slot, ahead);
    this.#ahead.delete(instanceId);
    this.#setTags(row.slot, version, tagsJson);
    this.#note(row, nowMs);
  }

  /** Marks an instance as deleted or damaged. `puts`: number of rows when the read began. */
  missed({ instanceId }: IndexedRow, puts: number): void {
    const { put = 0 } = this.#unread.get(instanceId) ?? {};
    // The instance was created again since.
    if (put > puts) return;
    if (this.#unread.delete(instanceId)) this.#unreadable.add(instanceId);
  }

  /** Takes the values of an owner. */
  learn(row: IndexedRow, values: IndexedValues, nowMs: number): void {
    this.#columns.place(row);
    const { slot } = row;
    const { version, flags, changedAtMs, tagsJson } = values;
    const isNewer = version > at(this.#columns.flagsVersions, slot);
    if (isNewer) this.#setFlags(slot, version, flags);
    // Newer changes that do not move the time may have come first.
    if (isNewer || Number.isNaN(at(this.#columns.changedAtMs, slot))) {
      this.#columns.changedAtMs[slot] = changedAtMs;
    }
    this.#setTags(slot, version, tagsJson);
    this.#note(row, nowMs);
  }

  /** Takes a change from the feed. */
  change(row: IndexedRow, change: FlagsChange, nowMs: number): void {
    this.#columns.place(row);
    this.#setChange(row.slot, change);
    this.#note(row, nowMs);
  }

  /** Takes a change of an instance without a listing row, until the row arrives. */
  changeAhead(instanceId: string, change: FlagsChange): void {
    const before = this.#ahead.get(instanceId);
    if (before !== undefined && before.version >= change.version) return;
    const { changedAtMs = before?.changedAtMs } = change;
    this.#ahead.delete(instanceId);
    this.#ahead.set(instanceId, { ...change, changedAtMs });
    if (this.#ahead.size <= AHEAD_MAX) return;
    // The row of a dropped change is read from its owner when it arrives.
    const [oldest] = this.#ahead.keys();
    if (oldest !== undefined) this.#ahead.delete(oldest);
  }

  /** Forgets an instance whose row has left the listing. */
  remove(row: IndexedRow): void {
    this.#unread.delete(row.instanceId);
    this.#unreadable.delete(row.instanceId);
    this.#ahead.delete(row.instanceId);
    if (!this.#columns.isPlaced(row)) return;
    const { slot } = row;
    this.#counts.add(at(this.#columns.flags, slot), -1);
    const tags = at(this.#columns.tags, slot);
    if (tags !== UNKNOWN_TAGS) this.#tagSets.drop(tags);
    this.#columns.remove(row);
  }

  /** Moves the index to a later position of the feed. */
  advanced(until: IndexedUntil): void {
    assert(until.position >= this.#until.position, 'an index never goes back');
    this.#until = until;
  }

  /** Instances that pass a filter now; undefined: all instances. */
  matches(filter: InstanceFilter | undefined): Matches {
    return matchesIn(this.#columns, this.#tagSets, filter);
  }

  /** Counts of the instances of a listing with `total` rows. */
  facets(total: number): Facets {
    return this.#counts.facets(total);
  }

  /** The most frequent tags, at most `count`, and the number of different tags. */
  tagCounts(count: number) {
    return { tags: this.#tagSets.frequent(count), different: this.#tagSets.different };
  }

  /** Values of an instance now. Undefined: they must be read, or cannot be read. */
  heldOf(row: IndexedRow): HeldValues | undefined {
    const { instanceId, slot } = row;
    const isRead = !this.#unread.has(instanceId) && !this.#unreadable.has(instanceId);
    if (!this.#columns.isPlaced(row) || !isRead) return undefined;
    const { flagsVersions, flags, changedAtMs, tagsVersions, tags } = this.#columns;
    return {
      flagsVersion: at(flagsVersions, slot),
      flags: at(flags, slot),
      changedAtMs: at(changedAtMs, slot),
      tagsVersion: at(tagsVersions, slot),
      tagsJson: this.#tagSets.jsonOf(at(tags, slot)),
    };
  }

  /** Replaces the values of an instance, whatever their versions. `recount` must follow. */
  repair({ slot }: IndexedRow, { version, flags, changedAtMs, tagsJson }: IndexedValues): void {
    this.#columns.flags[slot] = flags;
    this.#columns.flagsVersions[slot] = version;
    this.#columns.changedAtMs[slot] = changedAtMs;
    this.#columns.tags[slot] = this.#tagSets.take(tagsJson);
    this.#columns.tagsVersions[slot] = version;
  }

  /** Counts the columns again. Returns whether the counters were right. */
  recount(): boolean {
    const { flags, tags, slots } = this.#columns;
    const areFlagsRight = this.#counts.recount(flags.subarray(0, slots));
    const areTagsRight = this.#tagSets.recount(tags.subarray(0, slots));
    return areFlagsRight && areTagsRight;
  }

  /** Notes whether an instance must be read. */
  #note({ instanceId, slot }: IndexedRow, nowMs: number): void {
    if (this.#isKnown(slot)) {
      this.#unread.delete(instanceId);
      this.#unreadable.delete(instanceId);
    } else if (!this.#unreadable.has(instanceId) && !this.#unread.has(instanceId)) {
      this.#unread.set(instanceId, { atMs: nowMs, put: this.#puts });
    }
  }

  #isKnown(slot: number): boolean {
    const isTagged = at(this.#columns.tags, slot) !== UNKNOWN_TAGS;
    return isTagged && !Number.isNaN(at(this.#columns.changedAtMs, slot));
  }

  #setChange(slot: number, { version, flags, changedAtMs }: FlagsChange): void {
    if (version <= at(this.#columns.flagsVersions, slot)) return;
    this.#setFlags(slot, version, flags);
    if (changedAtMs !== undefined) this.#columns.changedAtMs[slot] = changedAtMs;
  }

  /** The row has the version of the newest tags. */
  #setStored(slot: number, { version: newest }: IndexedRow, values: HeldValues): void {
    const { flagsVersion: version, flags, changedAtMs, tagsVersion, tagsJson } = values;
    this.#setChange(slot, { version, flags, changedAtMs });
    if (newest <= tagsVersion) this.#setTags(slot, tagsVersion, tagsJson);
  }

  #setFlags(slot: number, version: number, flags: Flags): void {
    this.#counts.add(at(this.#columns.flags, slot), -1);
    this.#counts.add(flags, 1);
    this.#columns.flags[slot] = flags;
    this.#columns.flagsVersions[slot] = version;
  }

  /** Sets the tags at a version. Undefined: they are unknown, and values of this version have them. */
  #setTags(slot: number, version: number, tagsJson: string | undefined): void {
    if (version <= at(this.#columns.tagsVersions, slot)) return;
    const before = at(this.#columns.tags, slot);
    this.#columns.tags[slot] = tagsJson === undefined ? UNKNOWN_TAGS : this.#tagSets.take(tagsJson);
    this.#columns.tagsVersions[slot] = tagsJson === undefined ? version - 1 : version;
    if (before !== UNKNOWN_TAGS) this.#tagSets.drop(before);
  }
}

/** Value of a column. Slots are below the length of the columns. */
function at(column: Int32Array | Uint32Array | Float64Array, slot: number): number {
  return column[slot] as number;
}
