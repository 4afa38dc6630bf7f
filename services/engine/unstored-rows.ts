import { bytesOfText } from '#engine/held-bytes';
import type { AnswerRow, DriftRow, HistoryRow } from '#storage/instance-store';

/** Bytes of the lists. Measured, as all below: `test/engine/held-bytes`. */
const LISTS_BYTES = 300;

/** Bytes of rows in memory without their text. */
const HISTORY_ROW_BYTES = 150;
const DRIFT_ROW_BYTES = 180;
const ANSWER_ROW_BYTES = 300;

/** A copy of the rows, as a checkpoint stores them. */
export type RowsCopy = {
  readonly history: readonly HistoryRow[];
  readonly drift: readonly DriftRow[];
  readonly answers: readonly AnswerRow[];
  /** Roughly the bytes of all of them. */
  readonly bytes: number;
};

/** The rows of an instance that no checkpoint has stored, oldest first. */
export class UnstoredRows {
  readonly #history: HistoryRow[] = [];
  readonly #drift: DriftRow[] = [];
  readonly #answers: AnswerRow[] = [];
  #rowBytes = 0;

  /** Processed observations. */
  get history(): readonly HistoryRow[] {
    return this.#history;
  }

  /** Drift events. */
  get drift(): readonly DriftRow[] {
    return this.#drift;
  }

  /** Keyed answers. */
  get answers(): readonly AnswerRow[] {
    return this.#answers;
  }

  /** Roughly the bytes held. */
  get bytes(): number {
    return LISTS_BYTES + this.#rowBytes;
  }

  /** Adds a processed observation. */
  addHistory(row: HistoryRow): void {
    this.#history.push(row);
    this.#rowBytes += HISTORY_ROW_BYTES + bytesOfText(row.contextJson);
  }

  /** Adds a drift event. */
  addDrift(row: DriftRow): void {
    this.#drift.push(row);
    this.#rowBytes += DRIFT_ROW_BYTES + row.deviationJson.length + row.affectedModesJson.length;
  }

  /** Adds a keyed answer. */
  addAnswer(row: AnswerRow): void {
    this.#answers.push(row);
    const { key, fingerprint, body, etag } = row;
    const names = key.length + fingerprint.length + etag.length;
    this.#rowBytes += ANSWER_ROW_BYTES + names + bytesOfText(body);
  }

  /** What is here now, for a checkpoint. */
  copy(): RowsCopy {
    return {
      history: this.#history.slice(),
      drift: this.#drift.slice(),
      answers: this.#answers.slice(),
      bytes: this.#rowBytes,
    };
  }

  /** Drops rows that have been stored; those that came after the copy stay. */
  drop({ history, drift, answers, bytes }: RowsCopy): void {
    this.#history.splice(0, history.length);
    this.#drift.splice(0, drift.length);
    this.#answers.splice(0, answers.length);
    this.#rowBytes -= bytes;
  }

  /** Whether there is no row. */
  get isEmpty(): boolean {
    return this.#history.length + this.#drift.length + this.#answers.length === 0;
  }
}
