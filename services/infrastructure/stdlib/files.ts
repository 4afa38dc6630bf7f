import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '#stdlib/clock';

/** Bytes of a file, or a short reason why they cannot be read. */
type FileContent = Buffer | string;

/** Reason for a file that does not exist. */
export const MISSING = 'cannot be read (ENOENT)';

const LEADS_NOWHERE = 'is a link that leads nowhere (ENOENT)';

/** Maximum size of a file, in bytes. A list of all public authorities has 220 KiB. */
const FILE_BYTES_MAX = 1_024 * 1_024;

/** Reads a file, following links. Never throws. */
export function readContent(path: string): FileContent {
  try {
    return refusalOf(statSync(path)) ?? readFileSync(path);
  } catch (error) {
    return failureOf(path, error);
  }
}

/** Reads a file without blocking the process, even if the file system hangs. */
async function readContentAsync(path: string): Promise<FileContent> {
  try {
    return refusalOf(await stat(path)) ?? (await readFile(path));
  } catch (error) {
    return failureOf(path, error);
  }
}

function refusalOf(stats: Stats): string | undefined {
  // Reading from a device or a pipe might never end.
  if (!stats.isFile()) return 'is no file';
  return stats.size > FILE_BYTES_MAX ? `has more than ${FILE_BYTES_MAX} bytes` : undefined;
}

function failureOf(path: string, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOENT') return `cannot be read (${code})`;
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? MISSING : LEADS_NOWHERE;
}

/** Maximum size of a secret file, in bytes. Much larger than any secret. */
const SECRET_BYTES_MAX = 4_096;

/** Control characters. The value of an environment variable cannot contain them either. */
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * Reads secrets from files that the environment names in variables with the suffix `_FILE`. The
 * keys of `linesMaxOf` are the known secrets. Several lines are joined with commas. Throws a
 * one-line error.
 */
export function secretsInFiles(
  environment: Readonly<Record<string, string | undefined>>,
  linesMaxOf: Readonly<Record<string, number>>,
): Record<string, string> {
  const secrets: Record<string, string> = {};
  for (const [secret, linesMax] of Object.entries(linesMaxOf)) {
    const variable = `${secret}_FILE`;
    const path = environment[variable] ?? '';
    if (path === '') continue;
    if (environment[secret] !== undefined) {
      throw new Error(`${variable}: ${secret} is set too; remove one of the two variables`);
    }
    try {
      secrets[secret] = secretText(path, readContent(path), linesMax);
    } catch (error) {
      throw new Error(`${variable}: ${(error as Error).message}`);
    }
  }
  return secrets;
}

/**
 * Text of a secret file, without the final line break that editors and `echo` add, and with commas
 * between lines. Throws a one-line error for invalid content. The error never quotes the file.
 */
export function secretText(path: string, content: FileContent, linesMax: number): string {
  if (typeof content === 'string') throw new Error(`${path} ${content}`);
  if (content.length > SECRET_BYTES_MAX) {
    throw new Error(`${path} has more than ${SECRET_BYTES_MAX} bytes`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content).replace(/\r?\n$/, '');
  } catch {
    throw new Error(`${path} is not UTF-8 text`);
  }
  if (text === '') throw new Error(`${path} is empty`);
  const lines = text.split(/\r?\n/);
  if (linesMax > 1 && lines.length > linesMax) {
    throw new Error(`${path} must hold at most ${linesMax} lines of text`);
  }
  if (lines.length > linesMax || lines.some((line) => CONTROL_CHARACTER.test(line))) {
    throw new Error(`${path} must hold one line of text`);
  }
  return lines.join(',');
}

/** Period of reading watched files, in milliseconds. A change takes effect within two periods. */
const LOOK_PERIOD_MS = 2_000;

/** Contents of files that belong together, by path. */
export type FileContents = ReadonlyMap<string, FileContent>;

/** Options of watched files. */
type WatchedFilesOptions<Value> = {
  readonly paths: readonly string[];
  /** Throws a one-line error that names the file if the contents are unusable. */
  readonly parse: (contents: FileContents) => Value;
  readonly clock: Clock;
  /**
   * Called after every read that finds changed and unusable files. `isNews` is true the first time
   * that these contents are refused.
   */
  readonly onRefused: (error: Error, isNews: boolean) => void;
};

/**
 * Value parsed from files that are read again while the process runs. The contents are compared,
 * not the modification times. An orchestrator swaps links, which a watch on the file itself does
 * not report.
 *
 * A change takes effect when two consecutive reads have found the same contents and `parse` accepts
 * them. A half-written set of files is therefore never used. Until then the old value stays.
 * Source: decision 230.
 */
export class WatchedFiles<Value> implements Reloadable<Value>, Disposable {
  readonly #options: WatchedFilesOptions<Value>;
  readonly #tasks = new Set<(value: Value) => void>();
  #current: Value;
  /** Digest of the contents from which `#current` was parsed. */
  #usedDigest: string;
  /** Digest of the changed contents that the last read found. Undefined if nothing has changed. */
  #seenDigest: string | undefined;
  /** Digest of the current contents if they are unusable, and the reason. */
  #refused: { readonly digest: string; readonly error: Error } | undefined;
  #pending: Disposable;
  #isDisposed = false;

  /** Reads the files immediately. Throws the errors of `parse`. */
  constructor(options: WatchedFilesOptions<Value>) {
    this.#options = options;
    const contents = new Map(options.paths.map((path) => [path, readContent(path)]));
    this.#current = options.parse(contents);
    this.#usedDigest = digestOf(contents);
    this.#pending = this.#lookLater();
  }

  get current(): Value {
    return this.#current;
  }

  /** Reason why the current contents are not used. Undefined if they are used. */
  get refusal(): string | undefined {
    return this.#refused?.error.message;
  }

  onChange(task: (value: Value) => void): Disposable {
    const listener = (value: Value) => task(value);
    this.#tasks.add(listener);
    return { [Symbol.dispose]: () => void this.#tasks.delete(listener) };
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#pending[Symbol.dispose]();
    this.#tasks.clear();
  }

  #lookLater(): Disposable {
    return this.#options.clock.after(LOOK_PERIOD_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const contents = new Map<string, FileContent>();
    for (const path of this.#options.paths) contents.set(path, await readContentAsync(path));
    if (this.#isDisposed) return;
    this.#pending = this.#lookLater();
    this.#judge(contents);
  }

  #judge(contents: FileContents): void {
    const digest = digestOf(contents);
    const wasSeen = digest === this.#seenDigest;
    const isUsed = digest === this.#usedDigest;
    this.#seenDigest = isUsed ? undefined : digest;
    if (isUsed) this.#refused = undefined;
    if (isUsed || !wasSeen) return;
    let value: Value;
    try {
      value = this.#options.parse(contents);
    } catch (reason) {
      const error = reason as Error;
      const isNews = digest !== this.#refused?.digest;
      this.#refused = { digest, error };
      this.#options.onRefused(error, isNews);
      return;
    }
    this.#usedDigest = digest;
    this.#seenDigest = undefined;
    this.#refused = undefined;
    this.#current = value;
    for (const task of this.#tasks) task(value);
  }
}

/** Digest of the contents, so that the files are parsed only after a change. */
function digestOf(contents: FileContents): string {
  const hash = createHash('sha256');
  for (const [path, content] of contents) {
    hash.update(JSON.stringify([path, typeof content, content.length])).update(content);
  }
  return hash.digest('base64');
}

/**
 * Value that can change while the process runs. An operation uses the value from the time at which
 * it begins.
 */
export interface Reloadable<Value> {
  readonly current: Value;
  /** Runs `task` with the new value after every change, until disposed. `task` must not throw. */
  onChange(task: (value: Value) => void): Disposable;
}

/** Constant value as a `Reloadable`. */
export function unchanging<Value>(value: Value): Reloadable<Value> {
  return { current: value, onChange: () => ({ [Symbol.dispose]: () => undefined }) };
}

/** Derived value, computed on first use and again after each change. */
export function derivedFrom<Source, Value>(
  source: Reloadable<Source>,
  derive: (value: Source) => Value,
): Reloadable<Value> {
  let made: { readonly of: Source; readonly value: Value } | undefined;
  const madeOf = (current: Source): Value => {
    if (made === undefined || made.of !== current) made = { of: current, value: derive(current) };
    return made.value;
  };
  return {
    get current() {
      return madeOf(source.current);
    },
    onChange: (task) => source.onChange((value) => task(madeOf(value))),
  };
}
