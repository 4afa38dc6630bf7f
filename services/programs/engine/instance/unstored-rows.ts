import { bytesOfText } from '#engine/instance/held-bytes';
import type { AnswerRow, DriftRow, Floor, HistoryRow, RowCounts } from '#storage/ports/instances';

/**
 * Bytes of the lists, and of the map of answers. All estimates are measured by
 * `test/engine/held-bytes`.
 */
const LISTS_BYTES = 240;
const MAP_BYTES = 110;

/** Bytes of a row in memory, without its text. */
const HISTORY_ROW_BYTES = 150;
const DRIFT_ROW_BYTES = 180;
const ANSWER_ROW_BYTES = 300;

/** Floor that no checkpoint has stored, and the row counts that were trimmed before. */
type Trim = { readonly from: RowCounts; readonly to: Floor };

/** Copy of the rows for a checkpoint. */
export type RowsCopy = {
  readonly history: readonly HistoryRow[];
  readonly drift: readonly DriftRow[];
  readonly answers: readonly AnswerRow[];
  readonly trim: Trim | undefined;
  /** Approximate bytes of history and drift rows. */
  readonly bytes: number;
};

/** The rows of an instance that no checkpoint has stored, oldest first. */
export class UnstoredRows {
  readonly #history: HistoryRow[] = [];
  readonly #drift: DriftRow[] = [];
  /** Answers by key. Created on first use, because few instances have any. */
  #answers: Map<string, AnswerRow> | undefined;
  #trim: Trim | undefined;
  #rowBytes = 0;
  #answerBytes = 0;

  /** Processed observations. */
  get history(): readonly HistoryRow[] {
    return this.#history;
  }

  /** Drift events. */
  get drift(): readonly DriftRow[] {
    return this.#drift;
  }

  /** Whether the next checkpoint deletes stored rows. */
  get isTrimming(): boolean {
    return this.#trim !== undefined;
  }

  /**
   * Schedules the rows up to a floor for deletion. Rows up to `from` are deleted or scheduled
   * already.
   */
  trim(from: RowCounts, to: Floor): void {
    this.#trim = { from: this.#trim?.from ?? from, to };
  }

  /** The answer to a key. */
  answerTo(key: string): AnswerRow | undefined {
    return this.#answers?.get(key);
  }

  /** Approximate bytes of the answers alone. */
  get answerBytes(): number {
    return this.#answerBytes;
  }

  /** Approximate bytes of everything here. */
  get bytes(): number {
    const mapBytes = this.#answers === undefined ? 0 : MAP_BYTES;
    return LISTS_BYTES + mapBytes + this.#rowBytes + this.#answerBytes;
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
    this.#remove(this.answerTo(row.key));
    this.#answers ??= new Map();
    this.#answers.set(row.key, row);
    this.#answerBytes += bytesOfAnswer(row);
  }

  /** Oldest answers, up to `bytesMax` and at least one. */
  copyAnswers(bytesMax: number): AnswerRow[] {
    const answers: AnswerRow[] = [];
    let bytes = 0;
    for (const row of this.#answers?.values() ?? []) {
      bytes += bytesOfAnswer(row);
      if (answers.length > 0 && bytes > bytesMax) break;
      answers.push(row);
    }
    return answers;
  }

  /** Drops stored answers, unless a newer answer has the key. */
  dropAnswers(stored: readonly AnswerRow[]): void {
    for (const row of stored) if (this.answerTo(row.key) === row) this.#remove(row);
  }

  #remove(row: AnswerRow | undefined): void {
    if (row === undefined) return;
    this.#answers?.delete(row.key);
    this.#answerBytes -= bytesOfAnswer(row);
  }

  /** Copies all current rows for a checkpoint. */
  copy(): RowsCopy {
    return {
      history: this.#history.slice(),
      drift: this.#drift.slice(),
      answers: [...(this.#answers?.values() ?? [])],
      trim: this.#trim,
      bytes: this.#rowBytes,
    };
  }

  /** Drops stored rows. Rows added after the copy stay. */
  drop({ history, drift, answers, trim, bytes }: RowsCopy): void {
    this.#history.splice(0, history.length);
    this.#drift.splice(0, drift.length);
    this.dropAnswers(answers);
    this.#rowBytes -= bytes;
    if (trim !== undefined) this.#trimmed(trim.to);
  }

  /** Clears a trim whose floor is stored. A later floor stays pending. */
  #trimmed(stored: Floor): void {
    const to = this.#trim?.to;
    this.#trim = to === undefined || to === stored ? undefined : { from: stored, to };
  }

  /** Whether there is nothing to store. */
  get isEmpty(): boolean {
    if (this.isTrimming) return false;
    return this.#history.length + this.#drift.length + (this.#answers?.size ?? 0) === 0;
  }
}

function bytesOfAnswer({ key, fingerprint, body, etag }: AnswerRow): number {
  const names = key.length + fingerprint.length + etag.length;
  return ANSWER_ROW_BYTES + names + bytesOfText(body);
}
