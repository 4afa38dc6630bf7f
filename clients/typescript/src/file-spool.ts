/* Export `identity-engine/file-spool`. Separate file, because this module needs `node:fs`. */
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Spool, type SpoolEntry, SpoolError } from './observation-buffer/spool.ts';
import { doneLine, entryLine, nameOf, readLines } from './observation-buffer/spool-lines.ts';

/** Minimum size in bytes at which a mostly finished file is rewritten. */
const REWRITE_BYTES_MIN = 4_194_304;

/** Files open in spools of this process. */
const opened = new Set<string>();

/** A line waiting to be written. */
type Waiting = {
  readonly text: string;
  readonly isDurable: boolean;
  /** Updates the spool's state after the line is written. */
  readonly apply: () => void;
  readonly resolve: () => void;
  readonly reject: (error: SpoolError) => void;
};

/**
 * Spool in an append-only file (clients/README.md), created if missing. `add` resolves after
 * `fsync`; concurrent calls share an `fsync` (group commit). Only one process may use the file at a
 * time.
 */
export class FileSpool implements Spool {
  /** Absolute path of the file. */
  readonly path: string;
  #file: FileHandle | undefined;
  /** Lines of unfinished entries. */
  readonly #left = new Map<string, string>();
  #bytes = 0;
  #leftBytes = 0;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #error: SpoolError | undefined;

  constructor(path: string) {
    this.path = resolve(path);
  }

  /**
   * Throws a `SpoolError` if the file cannot be opened or read, or is already open in this process.
   */
  async load(): Promise<readonly SpoolEntry[]> {
    if (opened.has(this.path)) throw new SpoolError(`the spool ${this.path} is already open`);
    opened.add(this.path);
    try {
      const bytes = await readFile(this.path).catch(emptyIfMissing);
      const { left, whole } = readLines(bytes);
      const entries = [...left.values()];
      for (const entry of entries) this.#keep(entry);
      // Remove finished entries and a torn last line from the file.
      if (whole < bytes.length || this.#leftBytes < whole) await this.#rewrite();
      else await this.#open(bytes.length);
      return entries;
    } catch (error) {
      opened.delete(this.path);
      throw errorOf(this.path, error);
    }
  }

  async add(entries: readonly SpoolEntry[]): Promise<void> {
    const text = entries.map(entryLine).join('');
    await this.#append(text, true, () => {
      for (const entry of entries) this.#keep(entry);
    });
  }

  async done(instanceId: string, keys: readonly string[]): Promise<void> {
    await this.#append(doneLine(instanceId, keys), false, () => {
      for (const key of keys) this.#forget(nameOf(instanceId, key));
    });
  }

  async close(): Promise<void> {
    await this.#writing;
    if (this.#file === undefined) return;
    const file = this.#file;
    this.#file = undefined;
    opened.delete(this.path);
    await file.close();
  }

  async #append(text: string, isDurable: boolean, apply: () => void): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    if (this.#file === undefined) throw new SpoolError(`the spool ${this.path} is not open`);
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ text, isDurable, apply, resolve, reject });
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
    });
  }

  /** Writes all waiting lines as a group until none is left. Never rejects. */
  async #write(): Promise<void> {
    // Wait one microtask for concurrent calls.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#error !== undefined) throw this.#error;
        await this.#writeGroup(group);
        for (const { resolve } of group) resolve();
      } catch (error) {
        const failed = errorOf(this.path, error);
        for (const { reject } of group) reject(failed);
      }
    }
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const file = this.#file;
    if (file === undefined) throw new SpoolError(`the spool ${this.path} is not open`);
    await this.#assertOwn(file);
    const bytes = Buffer.from(group.map(({ text }) => text).join(''));
    try {
      for (let from = 0; from < bytes.length; ) {
        const { bytesWritten } = await file.write(bytes, from, undefined, this.#bytes + from);
        from += bytesWritten;
      }
      if (group.some(({ isDurable }) => isDurable)) await file.datasync();
    } catch (error) {
      // Cut off unacknowledged lines, so that no later process sends their observations. If the
      // truncation fails, the spool accepts no further lines.
      await file.truncate(this.#bytes).catch((cause: unknown) => {
        this.#error = errorOf(this.path, cause);
      });
      throw error;
    }
    this.#bytes += bytes.length;
    for (const { apply } of group) apply();
    if (this.#bytes >= REWRITE_BYTES_MIN && this.#leftBytes * 4 < this.#bytes) {
      // A failed rewrite only leaves the file large; all lines are durable.
      await this.#rewrite().catch(() => undefined);
    }
  }

  /**
   * Throws if another process replaced the file or wrote to the file: writes would be lost or
   * overwrite lines. The spool then accepts no further lines.
   */
  async #assertOwn(file: FileHandle): Promise<void> {
    const [own, named] = await Promise.all([file.stat(), stat(this.path).catch(() => undefined)]);
    const isSame = named !== undefined && named.ino === own.ino && named.dev === own.dev;
    if (isSame && own.size === this.#bytes) return;
    this.#error = new SpoolError(
      `another process has changed the spool ${this.path}: use one file per process`,
    );
    throw this.#error;
  }

  /** Writes unfinished entries to a new file, and replaces the old file by the new file. */
  async #rewrite(): Promise<void> {
    const made = `${this.path}.new`;
    const text = [...this.#left.values()].join('');
    const file = await open(made, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
      await rename(made, this.path);
    } catch (error) {
      await file.close();
      await rm(made, { force: true });
      throw error;
    }
    const before = this.#file;
    this.#file = file;
    this.#bytes = Buffer.byteLength(text);
    await before?.close();
    await syncFolder(this.path);
  }

  async #open(bytes: number): Promise<void> {
    // Not append mode: writing continues after the last complete line.
    this.#file = await open(this.path, 'r+').catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      return await open(this.path, 'wx+', 0o600);
    });
    this.#bytes = bytes;
    await syncFolder(this.path);
  }

  #keep(entry: SpoolEntry): void {
    const name = nameOf(entry.instanceId, entry.observation.idempotency_key);
    const line = entryLine(entry);
    this.#leftBytes += Buffer.byteLength(line) - Buffer.byteLength(this.#left.get(name) ?? '');
    // A replaced entry keeps its position.
    this.#left.set(name, line);
  }

  #forget(name: string): void {
    this.#leftBytes -= Buffer.byteLength(this.#left.get(name) ?? '');
    this.#left.delete(name);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function emptyIfMissing(error: unknown): Uint8Array {
  if (isMissing(error)) return new Uint8Array();
  throw error;
}

/** Makes the name of a new file durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function errorOf(path: string, error: unknown): SpoolError {
  if (error instanceof SpoolError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new SpoolError(`the spool ${path} cannot be used: ${text}`, { cause: error });
}
