import type { Chance } from '#test/chaos/faults/chance';
import { type Change, FileBytes, lengthAfter } from '#test/power-loss/disk/file-bytes';
import { cameThrough, type Luck } from '#test/power-loss/luck';

/** Bytes that a disk writes atomically. Source: decision 274. */
const SECTOR_BYTES = 512;

/** Content of a file: synced data and later changes. */
export class RecordedFile {
  readonly #durable = new FileBytes();
  readonly #since: Change[] = [];
  /** Number of durable changes. */
  #synced = 0;

  /** Adds a change. */
  change(change: Change): void {
    this.#since.push(change);
  }

  /** Start position of a sync: earlier changes are durable when the sync returns. */
  get place(): number {
    return this.#synced + this.#since.length;
  }

  /** Completes a sync that started at `place`. */
  sync(place: number): void {
    const count = Math.max(0, place - this.#synced);
    for (const change of this.#since.splice(0, count)) this.#durable.apply(change);
    this.#synced += count;
  }

  /** Content as seen by the process. */
  get content(): Buffer {
    const bytes = new FileBytes();
    bytes.apply({ kind: 'write', at: 0, bytes: this.#durable.copy() });
    for (const change of this.#since) bytes.apply(change);
    return bytes.copy();
  }

  /**
   * A possible content after power loss: all synced data. Each group of sectors has the content
   * before or after any later change, and the length is one since the sync.
   */
  survivor(chance: Chance, luck: Luck): Buffer {
    const lengths = [this.#durable.length];
    for (const change of this.#since) lengths.push(lengthAfter(lengths.at(-1) ?? 0, change));
    const whole = this.#durable.copy(Math.max(...lengths));
    const groups = new SectorGroups(chance, luck);
    for (const change of this.#since) groups.count(change, whole.length);
    for (const change of this.#since) groups.apply(change, whole);
    return whole.subarray(0, lengths[cameThrough(this.#since.length, luck, chance)]);
  }
}

/** Number of changes of each sector group that reached the disk, from the first on. */
class SectorGroups {
  readonly #chance: Chance;
  readonly #luck: Luck;
  readonly #bytes: number;
  readonly #changes = new Map<number, number>();
  readonly #left = new Map<number, number>();

  constructor(chance: Chance, luck: Luck) {
    this.#chance = chance;
    this.#luck = luck;
    this.#bytes = SECTOR_BYTES * luck.together;
  }

  /**
   * Counts a change in each group that it touches; all changes are counted before any is applied.
   */
  count(change: Change, end: number): void {
    for (const [group] of this.#pieces(change, end)) {
      this.#changes.set(group, (this.#changes.get(group) ?? 0) + 1);
    }
  }

  /** Applies a change to the groups where it reached the disk. */
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
    return cameThrough(this.#changes.get(group) ?? 0, this.#luck, this.#chance);
  }

  /** Groups touched by a change, with the byte ranges. */
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
