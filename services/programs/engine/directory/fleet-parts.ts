import type { IndexedRow } from '#engine/directory/fleet-columns';
import type { FleetIndex, HeldValues, IndexedUntil } from '#engine/directory/fleet-index';
import { type ByteReader, ByteWriter, readerOf } from '#storage/ports/bytes';
import { INDEX_PART_BYTES_MAX } from '#storage/ports/feeds';

/** Format of a stored part. A part of another format is not used. */
const FORMAT = 1;

/** Bytes of an instance in a part, without its tags. */
const ENTRY_BYTES = 32;

/** An id is this text and 16 hexadecimal digits, which are two numbers in a part. */
const ID_START = 'inst_';
const DIGITS = 8;

const writer = new ByteWriter();

/** Start of the ids of a part: their first two digits are its number. */
export function partStart(part: number): string {
  return ID_START + part.toString(16).padStart(2, '0');
}

/** Number of the part with an id. */
export function partOf(instanceId: string): number {
  return Number.parseInt(instanceId.slice(ID_START.length, ID_START.length + 2), 16);
}

/**
 * Encodes the values of some rows of an index, in the order of their ids. Instances with unknown
 * values are left out. Undefined: the part would be too large, because of its tags.
 */
export function encodeIndexPart(
  index: FleetIndex,
  rows: readonly IndexedRow[],
): Buffer | undefined {
  const entries: [IndexedRow, HeldValues, set: number][] = [];
  const sets = new Map<string, number>();
  let bytes = 0;
  for (const row of rows) {
    const values = index.heldOf(row);
    const { tagsJson } = values ?? {};
    if (values === undefined || tagsJson === undefined) continue;
    const known = sets.get(tagsJson);
    const set = known ?? sets.size;
    entries.push([row, values, set]);
    bytes += ENTRY_BYTES;
    if (known !== undefined) continue;
    sets.set(tagsJson, set);
    bytes += 3 * tagsJson.length;
    if (bytes > INDEX_PART_BYTES_MAX) return undefined;
  }
  const { position, digest, atMs } = index.until;
  writer.begin(FORMAT).number(position).count(digest).number(atMs).count(sets.size);
  for (const tagsJson of sets.keys()) writer.text(tagsJson);
  writer.count(entries.length);
  for (const [{ instanceId }, values, set] of entries) {
    const digits = instanceId.slice(ID_START.length);
    writer.count(Number.parseInt(digits.slice(0, DIGITS), 16));
    writer.count(Number.parseInt(digits.slice(DIGITS), 16));
    writer.count(values.flagsVersion).count(values.flags).number(values.changedAtMs);
    writer.count(values.tagsVersion).count(set);
  }
  return writer.end();
}

/** A stored part. Throws `CorruptState` for damaged bytes, and for another format. */
export class IndexPart {
  /** Position of the feed up to which the part has all changes. */
  readonly until: IndexedUntil;
  readonly #reader: ByteReader;
  readonly #sets: readonly string[];
  #left: number;
  #next: { readonly instanceId: string; readonly values: HeldValues } | undefined;

  constructor(bytes: Buffer) {
    const reader = readerOf(bytes, FORMAT, 'a part of an index');
    const [position, digest, atMs] = [reader.number(), reader.count(), reader.number()];
    this.until = { position, digest, atMs };
    this.#sets = Array.from({ length: reader.count() }, () => reader.text());
    this.#left = reader.count();
    this.#reader = reader;
  }

  /** Values of an instance; undefined if the part lacks it. Ids must come in ascending order. */
  take(instanceId: string): HeldValues | undefined {
    for (;;) {
      this.#next ??= this.#read();
      if (this.#next === undefined || this.#next.instanceId > instanceId) return undefined;
      const { instanceId: id, values } = this.#next;
      this.#next = undefined;
      if (id === instanceId) return values;
    }
  }

  #read() {
    if (this.#left === 0) return undefined;
    this.#left -= 1;
    const reader = this.#reader;
    const instanceId = ID_START + digitsOf(reader.count()) + digitsOf(reader.count());
    const [flagsVersion, flags, changedAtMs] = [reader.count(), reader.count(), reader.number()];
    const tagsVersion = reader.count();
    const { [reader.count()]: tagsJson } = this.#sets;
    return { instanceId, values: { flagsVersion, flags, changedAtMs, tagsVersion, tagsJson } };
  }
}

function digitsOf(number: number): string {
  return number.toString(16).padStart(DIGITS, '0');
}
