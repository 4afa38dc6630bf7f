import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '#platform/clock';

/** The bytes of a file, or in a few words why there are none. */
type FileContent = Buffer | string;

/** What is said of a file that is not there. */
export const MISSING = 'cannot be read (ENOENT)';

const LEADS_NOWHERE = 'is a link that leads nowhere (ENOENT)';

/** Bytes of a file that is read at all: a list of all public authorities has 220 KiB. */
const FILE_BYTES_MAX = 1_024 * 1_024;

/** What a file holds, through links. Never throws. */
export function readContent(path: string): FileContent {
  try {
    return refusalOf(statSync(path)) ?? readFileSync(path);
  } catch (error) {
    return failureOf(path, error);
  }
}

/** The same without keeping the process waiting: of a file system that hangs, for example. */
async function readContentAsync(path: string): Promise<FileContent> {
  try {
    return refusalOf(await stat(path)) ?? (await readFile(path));
  } catch (error) {
    return failureOf(path, error);
  }
}

function refusalOf(stats: Stats): string | undefined {
  // A device or a pipe could be read for ever.
  if (!stats.isFile()) return 'is no file';
  return stats.size > FILE_BYTES_MAX ? `has more than ${FILE_BYTES_MAX} bytes` : undefined;
}

function failureOf(path: string, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOENT') return `cannot be read (${code})`;
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? MISSING : LEADS_NOWHERE;
}

/** Bytes of a secret file: far more than any secret has. */
const SECRET_BYTES_MAX = 4_096;

/** What a value of an environment variable could not have either. */
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * The secrets whose files an environment names, in a variable with `_FILE` behind the secret's. Keys of
 * `linesMaxOf` are the secrets there are. Lines become a list with commas. Throws an error of one line.
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
      throw new Error(`${variable}: ${secret} is set too, and one of them must go`);
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
 * The text in a secret file, without the line break at its end, that editors and `echo` leave, and
 * with commas for those between lines. Throws an error of one line, which never quotes the file, for
 * what is no secret.
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
    throw new Error(`${path} is no UTF-8 text`);
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

/** Between two looks at watched files, in milliseconds: a change counts within twice that. */
const LOOK_PERIOD_MS = 2_000;

/** The contents of files that belong together, by their paths. */
export type FileContents = ReadonlyMap<string, FileContent>;

/** Which files to watch, and what is made of them. */
type WatchedFilesOptions<Value> = {
  readonly paths: readonly string[];
  /** Throws an error of one line, which names the file, for contents that are of no use. */
  readonly parse: (contents: FileContents) => Value;
  readonly clock: Clock;
  /**
   * Hears at every look that the files have changed and are of no use; `isNews` of the first such
   * look at these contents.
   */
  readonly onRefused: (error: Error, isNews: boolean) => void;
};

/**
 * What some files say, read again while the process runs. Their contents are compared, not their
 * times: an orchestrator swaps links, of which a watch on the file itself hears nothing. A change
 * counts when two looks in a row have found the same, so that of files that belong together no
 * half-written set is used, and only if `parse` accepts it: until then the value stays as it was.
 * Source: decision 230.
 */
export class WatchedFiles<Value> implements Reloadable<Value>, Disposable {
  readonly #options: WatchedFilesOptions<Value>;
  readonly #tasks = new Set<(value: Value) => void>();
  #current: Value;
  /** Of the contents that `#current` was made of. */
  #usedDigest: string;
  /** Of the contents that the last look has found; undefined: those that are in use. */
  #seenDigest: string | undefined;
  /** The contents that are there and of no use, and why. */
  #refused: { readonly digest: string; readonly error: Error } | undefined;
  #pending: Disposable;
  #isDisposed = false;

  /** Reads the files at once. Throws what `parse` throws. */
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

  /** Why what the files hold now is not used; undefined when it is. */
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

/** A look costs no more than this: what the files hold is parsed only when it is another. */
function digestOf(contents: FileContents): string {
  const hash = createHash('sha256');
  for (const [path, content] of contents) {
    hash.update(JSON.stringify([path, typeof content, content.length])).update(content);
  }
  return hash.digest('base64');
}

/** A value that can become another while the process runs: what begins now takes what it is now. */
export interface Reloadable<Value> {
  readonly current: Value;
  /** Runs `task` with the new value after every change, until disposed. `task` must not throw. */
  onChange(task: (value: Value) => void): Disposable;
}

/** A value that stays as it is. */
export function unchanging<Value>(value: Value): Reloadable<Value> {
  return { current: value, onChange: () => ({ [Symbol.dispose]: () => undefined }) };
}

/** What `derive` makes of a value: made when it is first asked for, and again after each change. */
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
