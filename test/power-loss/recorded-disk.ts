import type { Chance } from '#test/chaos/chance';
import type { DiskRecord } from '#test/power-loss/disk-log';
import { cameThrough, type Luck } from '#test/power-loss/luck';
import { RecordedFile } from '#test/power-loss/recorded-file';

/** Which file each of these names stands for from now on, all at once; undefined: none. */
type Naming = readonly (readonly [path: string, file: RecordedFile | undefined])[];

/** What a handle of a process stands for; a folder has no bytes. */
type Handle = { readonly file: RecordedFile | undefined };

/** SQLite's index of its log in shared memory: not durable, made again by who opens first. */
const SHARED_MEMORY = /-shm$/;

/** Holds room on a disk, and nothing that is ever read: an image has none, as a disk that was full. */
const RESERVE = /-reserve$/;

/**
 * A folder as its disk holds it, from what a recorder saw: which bytes and names are durable, and which
 * may be. Begins empty, and takes records in their order.
 */
export class RecordedDisk {
  readonly #names = new Map<string, RecordedFile>();
  readonly #durableNames = new Map<string, RecordedFile>();
  /** Names that were given or taken away since the folder was synced, in their order. */
  readonly #namings: Naming[] = [];
  #namingsSynced = 0;
  readonly #handles = new Map<string, Handle>();
  /** Where syncs that have not returned began, by handle; of one handle the first to return is the oldest. */
  readonly #begun = new Map<string, number[]>();

  /** Notes what a process has done. */
  take(record: DiskRecord): void {
    switch (record.kind) {
      case 'opened': {
        const { path, isFolder, isEmptied } = record;
        const file = isFolder ? undefined : this.#opened(path);
        if (isEmptied) file?.change({ kind: 'truncate', length: 0 });
        this.#handles.set(keyOf(record), { file });
        return;
      }
      case 'closed':
        this.#handles.delete(keyOf(record));
        return;
      case 'written':
        this.#fileOf(record)?.change({ kind: 'write', at: record.at, bytes: record.bytes });
        return;
      case 'truncated':
        this.#fileOf(record)?.change({ kind: 'truncate', length: record.length });
        return;
      case 'sync_begun': {
        const begun = this.#begun.get(keyOf(record)) ?? [];
        this.#begun.set(keyOf(record), [...begun, this.#placeOf(record)]);
        return;
      }
      case 'sync_ended': {
        const [place = 0, ...rest] = this.#begun.get(keyOf(record)) ?? [];
        this.#begun.set(keyOf(record), rest);
        const file = this.#fileOf(record);
        if (file === undefined) this.#syncNames(place);
        else file.sync(place);
        return;
      }
      case 'unlinked':
        this.#name([[record.path, undefined]]);
        return;
      case 'renamed':
        this.#name([
          [record.to, this.#names.get(record.from)],
          [record.from, undefined],
        ]);
    }
  }

  /** Every file as the processes themselves see it, by its path. */
  get contents(): Map<string, Buffer> {
    return new Map([...this.#lasting(this.#names)].map(([path, file]) => [path, file.content]));
  }

  /** What a disk may hold after power loss now: the bytes of each file, by its path. */
  survivors(chance: Chance, luck: Luck): Map<string, Buffer> {
    const names = new Map(this.#durableNames);
    // Names are metadata: file systems keep the order of their changes.
    const kept = cameThrough(this.#namings.length, luck, chance);
    for (const naming of this.#namings.slice(0, kept)) applyTo(names, naming);
    const files = [...this.#lasting(names)].filter(([path]) => !RESERVE.test(path));
    return new Map(files.map(([path, file]) => [path, file.survivor(chance, luck)]));
  }

  #opened(path: string): RecordedFile {
    const known = this.#names.get(path);
    if (known !== undefined) return known;
    const file = new RecordedFile();
    this.#name([[path, file]]);
    return file;
  }

  #name(naming: Naming): void {
    applyTo(this.#names, naming);
    this.#namings.push(naming);
  }

  #syncNames(place: number): void {
    const count = Math.max(0, place - this.#namingsSynced);
    for (const naming of this.#namings.splice(0, count)) applyTo(this.#durableNames, naming);
    this.#namingsSynced += count;
  }

  #placeOf(record: Parameters<typeof keyOf>[0]): number {
    return this.#fileOf(record)?.place ?? this.#namingsSynced + this.#namings.length;
  }

  #fileOf(record: Parameters<typeof keyOf>[0]): RecordedFile | undefined {
    const handle = this.#handles.get(keyOf(record));
    if (handle === undefined) throw new Error(`handle ${keyOf(record)} was never opened`);
    return handle.file;
  }

  #lasting(names: ReadonlyMap<string, RecordedFile>): Iterable<[string, RecordedFile]> {
    return [...names].filter(([path]) => !SHARED_MEMORY.test(path));
  }
}

/** A handle is the process's own. */
function keyOf({ pid, handle }: { readonly pid: number; readonly handle: number }): string {
  return `${pid}:${handle}`;
}

function applyTo(names: Map<string, RecordedFile>, naming: Naming): void {
  for (const [path, file] of naming) {
    if (file === undefined) names.delete(path);
    else names.set(path, file);
  }
}
