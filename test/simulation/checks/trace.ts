import { createHash } from 'node:crypto';

/** Number of newest lines kept for failure analysis. */
const LAST_LINES_MAX = 300;

/**
 * Text trace of a run. Its hash covers every line, so that equal hashes prove equal runs. Only the
 * newest lines are kept; `hear` receives every line.
 */
export class Trace {
  readonly #hash = createHash('sha256');
  readonly #last: string[] = [];
  readonly #hear: ((line: string) => void) | undefined;
  #count = 0;

  constructor(hear?: (line: string) => void) {
    this.#hear = hear;
  }

  /** Adds a line with its simulated time. */
  add(atMs: number, text: string): void {
    const line = `${atMs.toFixed(3)} ${text}`;
    this.#hash.update(`${line}\n`);
    this.#count += 1;
    this.#last[this.#count % LAST_LINES_MAX] = line;
    this.#hear?.(line);
  }

  /** Newest lines, oldest first. */
  get lastLines(): string[] {
    const newest = this.#count % LAST_LINES_MAX;
    return [...this.#last.slice(newest + 1), ...this.#last.slice(0, newest + 1)].filter(Boolean);
  }

  /** SHA-256 of all lines so far, in hex. */
  get digest(): string {
    return this.#hash.copy().digest('hex');
  }
}
