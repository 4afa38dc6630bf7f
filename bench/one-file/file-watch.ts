import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { metricsOf, sumOf } from '#bench/measures/cycle-count';

/** Interval between readings, in ms. */
const READING_INTERVAL_MS = 5_000;

/** State of a served SQLite file at one moment. */
export type FileLook = {
  readonly walBytes: number;
  readonly journalRows: number;
  readonly journalBytes: number;
  /** Records without a checkpoint. */
  readonly unflushed: number;
};

/** Reads the state of a served file periodically, until disposed. */
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
    // Ignore a failed reading: the service stops during the watch.
    const look = () => void this.#look().catch(() => undefined);
    this.#timer = setInterval(look, READING_INTERVAL_MS);
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
