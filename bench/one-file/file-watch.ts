import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { metricsOf, sumOf } from '#bench/cycle-count';

/** How often the file is looked at, in ms. */
const LOOK_EVERY_MS = 5_000;

/** What stood in a served file at one time. */
export type FileLook = {
  readonly walBytes: number;
  readonly journalRows: number;
  readonly journalBytes: number;
  /** Records that no checkpoint has stored. */
  readonly unflushed: number;
};

/** Looks at a served file again and again until it is disposed. */
export class FileWatch implements Disposable {
  readonly looks: FileLook[] = [];
  readonly #file: string;
  readonly #metricsUrls: readonly string[];
  readonly #database: DatabaseSync;
  readonly #timer: NodeJS.Timeout;

  constructor(file: string, metricsUrls: readonly string[]) {
    this.#file = file;
    this.#metricsUrls = metricsUrls;
    this.#database = new DatabaseSync(file, { readOnly: true });
    // A look that fails is one that is missing: the service ends while it is watched.
    const look = () => void this.#look().catch(() => undefined);
    this.#timer = setInterval(look, LOOK_EVERY_MS);
    look();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#database.close();
  }

  async #look(): Promise<void> {
    const unflushed = sumOf(await metricsOf(this.#metricsUrls), 'journal_unflushed_records');
    const journal = this.#database
      .prepare('SELECT count(*) AS rows, total(length(records)) AS bytes FROM journal')
      .get();
    this.looks.push({
      walBytes: statSync(`${this.#file}-wal`).size,
      journalRows: Number(journal?.['rows']),
      journalBytes: Number(journal?.['bytes']),
      unflushed,
    });
  }
}
