import type { Chance } from '#test/chaos/faults/chance';
import type { DiskRecord } from '#test/power-loss/disk/disk-log';
import { RecordedFile } from '#test/power-loss/disk/recorded-file';
import { type Survival, survivingChanges } from '#test/power-loss/luck';

/** An atomic change of file names. An undefined file removes the name. */
type Naming = readonly (readonly [path: string, file: RecordedFile | undefined])[];

/** An open handle. Its file is undefined for a folder. */
type Handle = { readonly file: RecordedFile | undefined };

/** SQLite's WAL index in shared memory: not durable, because the first connection rebuilds it. */
const SHARED_MEMORY = /-shm$/;

/** Reserved disk space, which is never read. Images omit the file. */
const RESERVE = /-reserve$/;

/**
 * A folder on disk, rebuilt from records in order: its current content, and the contents possible
 * after a power loss.
 */
export class RecordedDisk {
  readonly #names = new Map<string, RecordedFile>();
  readonly #durableNames = new Map<string, RecordedFile>();
  /** Name changes since the last sync of the folder, in order. */
  readonly #namings: Naming[] = [];
  #namingsSynced = 0;
  readonly #handles = new Map<string, Handle>();
  /** Start positions of pending syncs, by handle. The oldest sync of a handle ends first. */
  readonly #begun = new Map<string, number[]>();

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

  /** Content of all files as processes read it. The keys are paths. */
  get contents(): Map<string, Buffer> {
    return new Map([...this.#lasting(this.#names)].map(([path, file]) => [path, file.content]));
  }

  /** Possible content of all files after a power loss at this time. The keys are paths. */
  survivors(chance: Chance, survival: Survival): Map<string, Buffer> {
    const names = new Map(this.#durableNames);
    // File systems write metadata changes in order.
    const kept = survivingChanges(this.#namings.length, survival, chance);
    for (const naming of this.#namings.slice(0, kept)) applyTo(names, naming);
    const files = [...this.#lasting(names)].filter(([path]) => !RESERVE.test(path));
    return new Map(files.map(([path, file]) => [path, file.survivor(chance, survival)]));
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

/** Handle number with its process id. */
function keyOf({ pid, handle }: { readonly pid: number; readonly handle: number }): string {
  return `${pid}:${handle}`;
}

function applyTo(names: Map<string, RecordedFile>, naming: Naming): void {
  for (const [path, file] of naming) {
    if (file === undefined) names.delete(path);
    else names.set(path, file);
  }
}
