import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Mutant, nameOf } from '#test/mutation/mutant';
import { testsOf } from '#test/mutation/tests-of';
import type { Verdict } from '#test/mutation/try-mutant';

/** Cache file of verdicts. */
const FILE = '.cache/mutation.json';

type Entry = { readonly verdict: Verdict; readonly source: string; readonly tests: string };

/**
 * Cache of verdicts from earlier runs. The verdict of a detected mutant is valid while the mutated
 * file and the detecting test file are unchanged. The verdict of an undetected mutant is valid
 * while the mutated file and all its test files are unchanged. Imports are ignored.
 */
export class KnownVerdicts {
  readonly #entries: Map<string, Entry>;
  readonly #hashes = new Map<string, string>();

  constructor(isFresh: boolean) {
    this.#entries = new Map(isFresh ? [] : entriesOf(FILE));
  }

  /** Valid verdict of a mutant; undefined if not cached. */
  get(mutant: Mutant): Verdict | undefined {
    const entry = this.#entries.get(keyOf(mutant));
    if (entry === undefined || entry.source !== this.#hashOf([mutant.file])) return undefined;
    return entry.tests === this.#testsOf(mutant, entry.verdict) ? entry.verdict : undefined;
  }

  set(mutant: Mutant, verdict: Verdict): void {
    const source = this.#hashOf([mutant.file]);
    this.#entries.set(keyOf(mutant), { verdict, source, tests: this.#testsOf(mutant, verdict) });
  }

  /** Saves the verdicts for the next run. */
  save(): void {
    mkdirSync(dirname(FILE), { recursive: true });
    writeFileSync(FILE, JSON.stringify([...this.#entries]));
  }

  #testsOf(mutant: Mutant, verdict: Verdict): string {
    return this.#hashOf('by' in verdict ? [verdict.by] : testsOf(mutant.file));
  }

  #hashOf(files: readonly string[]): string {
    const key = files.join('\n');
    const known = this.#hashes.get(key);
    if (known !== undefined) return known;
    const hash = createHash('sha256');
    for (const file of files) hash.update(file).update(read(file));
    const made = hash.digest('base64');
    this.#hashes.set(key, made);
    return made;
  }
}

/** Cache key. Includes offsets, because mutants of a line may have the same shortened text. */
function keyOf(mutant: Mutant): string {
  return [nameOf(mutant), mutant.start, mutant.end, mutant.replacement].join('\n');
}

function entriesOf(file: string): [string, Entry][] {
  const text = read(file);
  return text === '' ? [] : (JSON.parse(text) as [string, Entry][]);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
