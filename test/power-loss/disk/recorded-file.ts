import type { Chance } from '#test/chaos/faults/chance';
import { type Survival, survivingChanges } from '#test/power-loss/luck';

/** Bytes that a disk writes atomically. Source: decision 274. */
const SECTOR_BYTES = 512;

/** A change of a file's content or length. */
type Change =
  | { readonly kind: 'write'; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly length: number };

/** A file: synced content and later changes. */
export class RecordedFile {
  readonly #durable = new FileBytes();
  readonly #since: Change[] = [];
  /** Number of synced changes. */
  #synced = 0;

  change(change: Change): void {
    this.#since.push(change);
  }

  /** Start position of a sync. The changes before this position are durable when the sync ends. */
  get place(): number {
    return this.#synced + this.#since.length;
  }

  /** Completes a sync that started at `place`. */
  sync(place: number): void {
    const count = Math.max(0, place - this.#synced);
    for (const change of this.#since.splice(0, count)) this.#durable.apply(change);
    this.#synced += count;
  }

  /** Content as the process reads it. */
  get content(): Buffer {
    const bytes = new FileBytes();
    bytes.apply({ kind: 'write', at: 0, bytes: this.#durable.copy() });
    for (const change of this.#since) bytes.apply(change);
    return bytes.copy();
  }

  /**
   * A possible content after a power loss. Each group of sectors has the synced content or the
   * content after a later change. The length is the synced length or a later length.
   */
  survivor(chance: Chance, survival: Survival): Buffer {
    const lengths = [this.#durable.length];
    for (const change of this.#since) lengths.push(lengthAfter(lengths.at(-1) ?? 0, change));
    const whole = this.#durable.copy(Math.max(...lengths));
    const groups = new SectorGroups(chance, survival);
    for (const change of this.#since) groups.count(change, whole.length);
    for (const change of this.#since) groups.apply(change, whole);
    return whole.subarray(0, lengths[survivingChanges(this.#since.length, survival, chance)]);
  }
}

/** Draws how many changes of each sector group reached the disk. */
class SectorGroups {
  readonly #chance: Chance;
  readonly #survival: Survival;
  readonly #bytes: number;
  readonly #changes = new Map<number, number>();
  readonly #left = new Map<number, number>();

  constructor(chance: Chance, survival: Survival) {
    this.#chance = chance;
    this.#survival = survival;
    this.#bytes = SECTOR_BYTES * survival.together;
  }

  /** Counts a change in the groups that it touches. All changes are counted before `apply`. */
  count(change: Change, end: number): void {
    for (const [group] of this.#pieces(change, end)) {
      this.#changes.set(group, (this.#changes.get(group) ?? 0) + 1);
    }
  }

  /** Applies a change to the groups in which the change reached the disk. */
  apply(change: Change, whole: Buffer): void {
    for (const [group, from, to] of this.#pieces(change, whole.length)) {
      const left = this.#left.get(group) ?? this.#drawn(group);
      this.#left.set(group, left - 1);
      if (left <= 0) continue;
      if (change.kind === 'truncate') whole.fill(0, from, to);
      else change.bytes.copy(whole, from, from - change.at, to - change.at);
    }
  }

  #drawn(group: number): number {
    return survivingChanges(this.#changes.get(group) ?? 0, this.#survival, this.#chance);
  }

  /** Groups that a change touches, with the byte ranges. */
  *#pieces(change: Change, end: number): Generator<[group: number, from: number, to: number]> {
    const start = change.kind === 'write' ? change.at : change.length;
    const stop = change.kind === 'write' ? change.at + change.bytes.length : end;
    for (let from = start; from < stop; ) {
      const group = Math.floor(from / this.#bytes);
      const to = Math.min(stop, (group + 1) * this.#bytes);
      yield [group, from, to];
      from = to;
    }
  }
}

/** Content of a file. Gaps read as zeros. */
class FileBytes {
  #room = Buffer.alloc(4_096);
  length = 0;

  apply(change: Change): void {
    const before = this.length;
    this.length = lengthAfter(before, change);
    this.#reserve(this.length);
    if (change.kind === 'write') change.bytes.copy(this.#room, change.at);
    else if (change.length < before) this.#room.fill(0, change.length, before);
  }

  /** A copy of the content, padded with zeros to at least `length` bytes. */
  copy(length = this.length): Buffer {
    const copied = Buffer.alloc(Math.max(length, this.length));
    this.#room.copy(copied, 0, 0, this.length);
    return copied;
  }

  #reserve(length: number): void {
    if (length <= this.#room.length) return;
    const larger = Buffer.alloc(Math.max(length, 2 * this.#room.length));
    this.#room.copy(larger);
    this.#room = larger;
  }
}

/** Length of a file after a change. */
function lengthAfter(length: number, change: Change): number {
  return change.kind === 'truncate'
    ? change.length
    : Math.max(length, change.at + change.bytes.length);
}
