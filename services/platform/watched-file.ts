import { createHash } from 'node:crypto';
import type { Clock } from '#platform/clock';
import { type FileContent, readContent, readContentAsync } from '#platform/file-content';
import type { Reloadable } from '#platform/reloadable';

/** Between two looks at watched files, in milliseconds: a change counts within twice that. */
const LOOK_PERIOD_MS = 2_000;

/** The contents of files that belong together, by their paths. */
export type FileContents = ReadonlyMap<string, FileContent>;

/** Which files to watch, and what is made of them. */
export type WatchedFilesOptions<Value> = {
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
