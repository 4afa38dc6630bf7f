/*
 * State of one instance in memory, its size, and throttling: the minimum interval between two
 * observations.
 */
import { strict as assert } from 'node:assert';
import type { InstanceEvent } from '#engine/instance/event';
import { CYCLE_INTERVAL_MS_MIN, type Model, type Models } from '#identity/model';
import type { State } from '#identity/state';
import type { Clock, Instant } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import {
  type AnswerRow,
  type DriftRow,
  type Floor,
  type HistoryRow,
  type InstanceHead,
  type NewestRows,
  NO_ROWS,
  type RowCounts,
} from '#storage/ports/instances';

/**
 * Bytes of an idle instance in memory, without its text and its model: `test/engine/instance/held-bytes`.
 */
const INSTANCE_BYTES = 780;

/**
 * One instance in memory. Every event produces the next state. The stored part is one immutable
 * value, the head, so an idle instance shares it with a store in the same process.
 */
export type InstanceState = {
  /**
   * Undefined if nothing was ever committed. With `deletedAtMs` the head is the marker of a deleted
   * instance. Its newest rows are those of the last checkpoint; `unstored` has the rows after them.
   */
  head: InstanceHead | undefined;
  /** Bytes of name and description in memory. */
  readonly textBytes: number;
  /**
   * Whether the store may share the head's model, so that a cycle must copy it. Set by a
   * checkpoint.
   */
  isModelShared: boolean;
  /** Created on first use, because an idle instance has none. A checkpoint removes it. */
  unstored: UnstoredRows | undefined;
  /** Start of the replay and its events. A checkpoint removes it. */
  recovery: Recovery | undefined;
  /** Time of the last observation by both clocks of this process. Set by `observedEvent`. */
  clockAnchor: Instant | undefined;
};

/** State of the instance that a head describes; without a head, of an unknown instance. */
export function instanceFrom(head: InstanceHead | undefined): InstanceState {
  return {
    head,
    textBytes: bytesOfHeadText(head),
    isModelShared: true,
    unstored: undefined,
    recovery: undefined,
    clockAnchor: undefined,
  };
}

/** Head of an existing instance. Throws an Error without a head: the caller must have checked. */
export function headOf({ head }: Pick<InstanceState, 'head'>): InstanceHead {
  if (head === undefined) throw new Error('the instance has no head');
  return head;
}

/** Whether the instance was created and not deleted. */
export function isLive({ head }: InstanceState): boolean {
  return head !== undefined && head.deletedAtMs === undefined;
}

/** Approximate bytes of an instance in memory. */
export function bytesOf(state: InstanceState): number {
  return INSTANCE_BYTES + bytesOfModel(state.head) + bytesOfRows(state.head) + bytesUnstored(state);
}

/**
 * Approximate bytes that only unstored changes hold, and the bytes of the text. They stay in memory
 * until the instance is stored.
 */
export function bytesUnstored({ textBytes, unstored, recovery }: InstanceState): number {
  return textBytes + (unstored?.bytes ?? 0) + (recovery?.bytes ?? 0);
}

/** Models of this program, and the timer of their steps. */
export type ModelPorts = { readonly models: Models; readonly steps: StepTimer };

/**
 * Model of a version. Throws `CorruptState` when this program lacks the model because a newer one
 * stored the instance. Only this instance then answers 500.
 */
export function modelOf(models: Models, version: string, instanceId: string): Model {
  const model = models.find(version);
  if (model !== undefined) return model;
  const known = models.versions.join(', ');
  throw new CorruptState(`${instanceId} needs model ${version}; this program has ${known}`);
}

/** Throws `CorruptState` when an instance needs a model that this program lacks. */
export function assertKnownModel(
  models: Models,
  { modelVersion, deletedAtMs }: InstanceHead,
  instanceId: string,
): void {
  // The marker of a deleted instance has no model state that could be misread.
  if (deletedAtMs === undefined) modelOf(models, modelVersion, instanceId);
}

/**
 * Converts the model state of a head to another version. `nextVersion` has checked that a
 * conversion exists.
 */
export function takenOver(
  models: Models,
  version: string,
  { modelVersion, model }: InstanceHead,
  instanceId: string,
): State {
  const takeOver = modelOf(models, version, instanceId).takesOver.get(modelVersion);
  assert(takeOver !== undefined, `model ${version} cannot go on from model ${modelVersion}`);
  return takeOver(model);
}

/**
 * Bytes of the lists, and of the map of answers. All estimates are measured by
 * `test/engine/instance/held-bytes`.
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

/** Bytes of a model in memory. `test/engine/instance/held-bytes` checks these estimates against the heap. */
const MODEL_BYTES = 1_100;

/** Bytes of a head's rows in memory, without their text. */
const ROWS_BYTES = 60;

/** Bytes of a floor in memory, without its state. */
const FLOOR_BYTES = 110;

/**
 * Characters that take two bytes in memory. One such character doubles the size of its whole text.
 */
const WIDE = /[\u0100-\uffff]/;

/** Bytes of a text in memory. */
export function bytesOfText(text: string): number {
  return WIDE.test(text) ? 2 * text.length : text.length;
}

/** Bytes of a head's text in memory. */
export function bytesOfHeadText(head: InstanceHead | undefined): number {
  return bytesOfText(head?.name ?? '') + bytesOfText(head?.description ?? '');
}

/** Bytes of a head's model in memory; a deleted instance has none. */
function bytesOfModel(head: InstanceHead | undefined): number {
  return head === undefined || head.model.length === 0 ? 0 : MODEL_BYTES;
}

/** Bytes of a head's newest rows and of its floor in memory. */
function bytesOfRows(head: InstanceHead | undefined): number {
  if (head === undefined) return 0;
  const bytesOf = (newest: NewestRows) =>
    newest === NO_ROWS ? 0 : ROWS_BYTES + newest.rows.length;
  const { floor } = head;
  const floorBytes = floor === undefined ? 0 : FLOOR_BYTES + (floor.state?.length ?? 0);
  return floorBytes + bytesOf(head.newestHistory) + bytesOf(head.newestDrift);
}

/** Estimated bytes of an event in memory, without its text. */
const EVENT_BYTES = 200;

/** Estimated bytes of an observation in memory, without the text that its row shares. */
const OBSERVATION_BYTES = 150;

/** Stored head, and the events after it that were replayed. */
type Recovery = {
  readonly head: InstanceHead | undefined;
  readonly events: readonly InstanceEvent[];
  /** Bytes of the text in the head and the events. The rows made from them share this text. */
  readonly textBytes: number;
  /** Approximate bytes of the head and the events that nothing else holds. */
  readonly bytes: number;
};

/**
 * Recovery of an instance. Until the next checkpoint, callers may ask again for answers of its
 * records (decision 90).
 */
export function recoveryOf(
  head: InstanceHead | undefined,
  events: readonly InstanceEvent[],
): Recovery {
  const textBytes = events.reduce((sum, one) => sum + bytesOfTexts(one), bytesOfHeadText(head));
  const shells = events.reduce((sum, { change }) => {
    const count = change.kind === 'observed' ? change.observations.length : 0;
    return sum + EVENT_BYTES + count * OBSERVATION_BYTES;
  }, 0);
  // The model is counted because the recovery keeps the stored vector for itself.
  const bytes = shells + bytesOfModel(head);
  return { head, events, textBytes, bytes };
}

/**
 * Recovery after text has left the head or the rows: the recovery is then the only holder of this
 * text.
 */
export function afterText(
  recovery: Recovery | undefined,
  leavingBytes: number,
): Recovery | undefined {
  if (recovery === undefined) return undefined;
  const { bytes, textBytes } = recovery;
  const ownBytes = Math.min(leavingBytes, textBytes);
  return { ...recovery, bytes: bytes + ownBytes, textBytes: textBytes - ownBytes };
}

function bytesOfTexts({ change }: InstanceEvent): number {
  switch (change.kind) {
    case 'created':
    case 'renamed':
      return bytesOfText(change.name ?? '') + bytesOfText(change.description ?? '');
    case 'observed':
      return change.observations.reduce((sum, one) => sum + bytesOfText(one.contextJson), 0);
    case 'removed':
    case 'reset':
    case 'trimmed':
      return 0;
  }
}

/** Inputs of the interval rule. Times in Unix milliseconds. */
export type IntervalBasis = {
  /** Time of the last accepted observation of this generation; undefined if there is none. */
  readonly observedAtMs: number | undefined;
  /** Time of the wall clock. */
  readonly nowMs: number;
  /** Time of a clock that never steps back, from `presentOf`. */
  readonly presentMs: number;
};

/** Time of the first observation, or that the observations came too early. */
export type Timing =
  | { readonly kind: 'accepted'; readonly firstMs: number }
  | { readonly kind: 'throttled'; readonly retryAfterS: number };

/**
 * Present time by a wall clock that never steps back. The monotonic time since the anchor is the
 * minimum advance. Source: decision 152.
 */
export function presentOf(anchor: Instant, now: Instant): number {
  return Math.max(now.wallMs, anchor.wallMs + now.monotonicMs - anchor.monotonicMs);
}

/**
 * Time of the first of `count` observations in one call.
 *
 * `callerMs` is the caller's timestamp of the first observation; if it is set, the others have
 * timestamps too. Without timestamps the observations are one second apart and end now, if there is
 * room after the previous observation. Source: decisions 1 and 8.
 */
export function timingOf(
  callerMs: number | undefined,
  count: number,
  basis: IntervalBasis,
): Timing {
  const earliestMs =
    basis.observedAtMs === undefined ? undefined : basis.observedAtMs + CYCLE_INTERVAL_MS_MIN;
  const firstMs = callerMs ?? stampOf(basis, earliestMs);
  if (earliestMs !== undefined && firstMs < earliestMs) {
    return {
      kind: 'throttled',
      retryAfterS: Math.max(1, Math.ceil((earliestMs - firstMs) / 1_000)),
    };
  }
  if (callerMs !== undefined || count === 1) return { kind: 'accepted', firstMs };
  const spreadMs = firstMs - (count - 1) * CYCLE_INTERVAL_MS_MIN;
  return { kind: 'accepted', firstMs: Math.max(earliestMs ?? spreadMs, spreadMs) };
}

/**
 * Timestamp from the engine's clock.
 *
 * The wall clock may be before the earliest allowed time although that time has passed: it stepped
 * back, or a former owner's clock was ahead. The timestamp is then the earliest allowed time, so
 * that the instance does not freeze. If the previous observation lies ahead for another reason,
 * such as a spread batch or a caller's timestamp, the call is throttled. Source: decision 152.
 */
function stampOf({ nowMs, presentMs }: IntervalBasis, earliestMs: number | undefined): number {
  if (earliestMs === undefined || nowMs >= earliestMs) return nowMs;
  return Math.min(presentMs, earliestMs);
}

/** Number of steps per timed step. Reading the clock twice costs a twentieth of a step. */
const STEPS_PER_SAMPLE = 64;

/** Times one model step in 64, including the first. */
export class StepTimer {
  readonly #clock: Clock;
  readonly #observe: (seconds: number) => void;
  #stepsLeft = 0;

  constructor(clock: Clock, observe: (seconds: number) => void) {
    this.#clock = clock;
    this.#observe = observe;
  }

  /**
   * Call before a step. Returns the start in milliseconds (monotonic), or undefined if the step is
   * not timed.
   */
  start(): number | undefined {
    if (this.#stepsLeft > 0) {
      this.#stepsLeft -= 1;
      return undefined;
    }
    this.#stepsLeft = STEPS_PER_SAMPLE - 1;
    return this.#clock.monotonicMs();
  }

  /** Call after a step, with the result of `start`. */
  stop(startedMs: number | undefined): void {
    if (startedMs === undefined) return;
    this.#observe((this.#clock.monotonicMs() - startedMs) / 1_000);
  }
}
