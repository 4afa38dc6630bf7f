import type { Chance } from '#test/chaos/chance';
import { type Change, FileBytes, lengthAfter } from '#test/power-loss/file-bytes';
import { cameThrough, type Luck } from '#test/power-loss/luck';

/** What a disk writes in one piece. Source: decision 274. */
const SECTOR_BYTES = 512;

/** The content of a file: what a sync has made durable, and every change since. */
export class RecordedFile {
  readonly #durable = new FileBytes();
  readonly #since: Change[] = [];
  /** Changes that are durable. */
  #synced = 0;

  /** Notes a change. */
  change(change: Change): void {
    this.#since.push(change);
  }

  /** Where a sync begins: what was changed before is durable when it has returned. */
  get place(): number {
    return this.#synced + this.#since.length;
  }

  /** A sync that began at `place` has returned. */
  sync(place: number): void {
    const count = Math.max(0, place - this.#synced);
    for (const change of this.#since.splice(0, count)) this.#durable.apply(change);
    this.#synced += count;
  }

  /** What the process itself reads. */
  get content(): Buffer {
    const bytes = new FileBytes();
    bytes.apply({ kind: 'write', at: 0, bytes: this.#durable.copy() });
    for (const change of this.#since) bytes.apply(change);
    return bytes.copy();
  }

  /**
   * What a disk may hold of it after power loss: all that was synced; of each group of sectors the
   * content before or after any change since, and a length that the file had since.
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

/** Which of the changes of each group of sectors have come to the disk: the first ones. */
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

  /** Counts a change for every group that it touches; all are counted before one is applied. */
  count(change: Change, end: number): void {
    for (const [group] of this.#pieces(change, end)) {
      this.#changes.set(group, (this.#changes.get(group) ?? 0) + 1);
    }
  }

  /** Makes a change where it has come to the disk. */
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

  /** The groups that a change touches, with the bytes of each that it changes. */
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
