import type { Chance } from '#test/chaos/faults/chance';
import type { DiskRecord } from '#test/power-loss/disk/disk-log';
import { RecordedFile } from '#test/power-loss/disk/recorded-file';
import { cameThrough, type Luck } from '#test/power-loss/luck';

/** An atomic change of file names; undefined removes a name. */
type Naming = readonly (readonly [path: string, file: RecordedFile | undefined])[];

/** File of a process's handle; undefined for a folder. */
type Handle = { readonly file: RecordedFile | undefined };

/** SQLite's shared-memory index of the WAL: not durable, recreated by the first connection. */
const SHARED_MEMORY = /-shm$/;

/** Reserved disk space that is never read; an image omits it, like a full disk. */
const RESERVE = /-reserve$/;

/**
 * Durable and possible contents of a folder on disk, from recorded changes. Starts empty and takes
 * records in order.
 */
export class RecordedDisk {
  readonly #names = new Map<string, RecordedFile>();
  readonly #durableNames = new Map<string, RecordedFile>();
  /** Name changes since the last sync of the folder, in order. */
  readonly #namings: Naming[] = [];
  #namingsSynced = 0;
  readonly #handles = new Map<string, Handle>();
  /** Start positions of pending syncs by handle; the oldest sync of a handle returns first. */
  readonly #begun = new Map<string, number[]>();

  /** Applies a record. */
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

  /** Current files as seen by processes, by path. */
  get contents(): Map<string, Buffer> {
    return new Map([...this.#lasting(this.#names)].map(([path, file]) => [path, file.content]));
  }

  /** A possible disk state after power loss now: file contents by path. */
  survivors(chance: Chance, luck: Luck): Map<string, Buffer> {
    const names = new Map(this.#durableNames);
    // File systems keep the order of metadata changes.
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

/** Handle number, qualified by process. */
function keyOf({ pid, handle }: { readonly pid: number; readonly handle: number }): string {
  return `${pid}:${handle}`;
}

function applyTo(names: Map<string, RecordedFile>, naming: Naming): void {
  for (const [path, file] of naming) {
    if (file === undefined) names.delete(path);
    else names.set(path, file);
  }
}
