import { createHash } from 'node:crypto';

/** Lines kept for the analysis of a failure. */
const LAST_LINES_MAX = 300;

/**
 * What happened, as text. The hash covers every line from the first, so that two runs with the same
 * hash were the same run; the lines themselves are kept only for the end, or given to `hear`.
 */
export class Trace {
  readonly #hash = createHash('sha256');
  readonly #last: string[] = [];
  readonly #hear: ((line: string) => void) | undefined;
  #count = 0;

  constructor(hear?: (line: string) => void) {
    this.#hear = hear;
  }

  /** Adds a line. */
  add(atMs: number, text: string): void {
    const line = `${atMs.toFixed(3)} ${text}`;
    this.#hash.update(`${line}\n`);
    this.#count += 1;
    this.#last[this.#count % LAST_LINES_MAX] = line;
    this.#hear?.(line);
  }

  /** The last lines, oldest first. */
  get lastLines(): string[] {
    const newest = this.#count % LAST_LINES_MAX;
    return [...this.#last.slice(newest + 1), ...this.#last.slice(0, newest + 1)].filter(Boolean);
  }

  /** Hex digest of everything so far. */
  get digest(): string {
    return this.#hash.copy().digest('hex');
  }
}
