import { strict as assert } from 'node:assert';
import type { InstanceEvent, Texts } from '#engine/instance/event';
import { CYCLE_INTERVAL_MS_MIN, type Model, type Models } from '#identity/model';
import type { State } from '#identity/state';
import type { Flags } from '#identity/transitions';
import type { Clock, Instant } from '#stdlib/clock';
import { CorruptState } from '#storage/ports/bytes';
import {
  type AnswerRow,
  type DriftRow,
  type Floor,
  type HeldHead,
  type HistoryRow,
  type InstanceHead,
  type NewestRows,
  NO_ROWS,
  type PackedHead,
  type PackedRows,
  packedHead,
  type RowCounts,
} from '#storage/ports/instances';
import { OBSERVATIONS } from '#storage/ports/rows';
import type { StateRow } from '#storage/ports/states';

/**
 * Memory per idle instance without text and model, in bytes. Measured by
 * `test/engine/instance/held-bytes`.
 */
const INSTANCE_BYTES = 724;

/**
 * An instance in memory. Each event produces the next state, and changes the array of a model in
 * place. So the model is packed while others share the head, from a checkpoint to the next event.
 */
export type InstanceState<Head = HeldHead> = {
  /**
   * Undefined before the first commit. A head with `deletedAtMs` is a tombstone. The head's newest
   * rows are from the last checkpoint; later rows are in `unstored`.
   */
  head: Head | undefined;
  /** Memory of name, description and tags, in bytes. */
  readonly textBytes: number;
  /**
   * Rows that are not stored yet. Undefined if there are none, as in idle instances. A checkpoint
   * removes these rows.
   */
  unstored: UnstoredRows | undefined;
  /** The replay's start and events. A checkpoint removes the recovery. */
  recovery: Recovery | undefined;
  /** Wall minus monotonic time at the last observation here, in ms. Set by `observedEvent`. */
  clockLeadMs: number | undefined;
  /** Flags of the model. Undefined before the first event in this process. */
  readonly flags: Flags | undefined;
};

/** Instance state for this head; undefined: an unknown instance. */
export function instanceFrom(head: HeldHead | undefined): InstanceState {
  return {
    head: head && packedHead(head),
    textBytes: bytesOfHeadText(head),
    unstored: undefined,
    recovery: undefined,
    clockLeadMs: undefined,
    flags: undefined,
  };
}

/** An existing instance's head. The caller must have checked that the instance exists. */
export function headOf<Head>({ head }: { readonly head: Head | undefined }): Head {
  if (head === undefined) throw new Error('the instance has no head');
  return head;
}

/** Whether the instance exists: created and not deleted. */
export function isLive({ head }: InstanceState): boolean {
  return head !== undefined && head.deletedAtMs === undefined;
}

/** Approximate instance memory, in bytes. */
export function bytesOf(state: InstanceState): number {
  return INSTANCE_BYTES + bytesOfModel(state.head) + bytesOfRows(state.head) + bytesUnstored(state);
}

/**
 * Approximate memory of text and unstored changes, in bytes. Only a checkpoint frees this memory.
 */
export function bytesUnstored({ textBytes, unstored, recovery }: InstanceState): number {
  return textBytes + (unstored?.bytes ?? 0) + (recovery?.bytes ?? 0);
}

/** Models in this program, and a timer for their steps. */
export type ModelPorts = { readonly models: Models; readonly steps: StepTimer };

/**
 * Finds a model. Throws `CorruptState` if this program lacks the model, because a newer program
 * stored the instance. Only calls to this instance then get 500.
 */
export function modelOf(models: Models, version: string, instanceId: string): Model {
  const model = models.find(version);
  if (model !== undefined) return model;
  const known = models.versions.join(', ');
  throw new CorruptState(`${instanceId} needs model ${version}; this program has ${known}`);
}

/** Throws `CorruptState` if this program lacks the instance's model. */
export function assertKnownModel(
  models: Models,
  { modelVersion, deletedAtMs }: HeldHead,
  instanceId: string,
): void {
  // A tombstone has no model state, so any program can read it.
  if (deletedAtMs === undefined) modelOf(models, modelVersion, instanceId);
}

/**
 * Migrates a head's model state to another version. `nextVersion` guarantees that the migration
 * exists.
 */
export function takenOver(
  models: Models,
  version: string,
  { modelVersion, model }: InstanceHead,
  instanceId: string,
): State {
  const takeOver = modelOf(models, version, instanceId).takesOver.get(modelVersion);
  assert(takeOver !== undefined, `model ${version} has no migration from model ${modelVersion}`);
  return takeOver(model);
}

/** Memory of the empty lists, in bytes. `test/engine/instance/held-bytes` measures all estimates. */
const LISTS_BYTES = 280;
/** Memory of an empty answer map, in bytes. */
const MAP_BYTES = 110;

/** Memory per packed observation without its bytes, in bytes. */
const HISTORY_ROW_BYTES = 32;
/** Memory per drift event without text, in bytes. */
const DRIFT_ROW_BYTES = 180;
/** Memory per answer without text, in bytes. */
const ANSWER_ROW_BYTES = 300;
/** Memory per past state without its model state, in bytes. */
const STATE_ROW_BYTES = 200;

/** A floor not yet stored by a checkpoint, and the row counts trimmed before. */
type Trim = { readonly from: RowCounts; readonly to: Floor };

/** Copied unstored rows for a checkpoint. */
export type RowsCopy = {
  readonly history: readonly PackedRows[];
  readonly drift: readonly DriftRow[];
  readonly answers: readonly AnswerRow[];
  readonly states: readonly StateRow[];
  readonly trim: Trim | undefined;
  /** Approximate memory of history rows, drift rows and states, in bytes. */
  readonly bytes: number;
};

/** An instance's rows since the last checkpoint, oldest first. */
export class UnstoredRows {
  /** Packed at once: an object would take three times the memory until the checkpoint. */
  readonly #history: PackedRows[] = [];
  readonly #drift: DriftRow[] = [];
  /** Answers by key. Created on first use, because few instances have answers. */
  #answers: Map<string, AnswerRow> | undefined;
  /** States to store. Created on first use, because most instances have none. */
  #states: StateRow[] | undefined;
  #trim: Trim | undefined;
  #rowBytes = 0;
  #answerBytes = 0;

  /** Processed observations, packed, for `unpackedHistory`. */
  get history(): readonly PackedRows[] {
    return this.#history;
  }

  /** Drift events. */
  get drift(): readonly DriftRow[] {
    return this.#drift;
  }

  /** States at past positions. */
  get states(): readonly StateRow[] {
    return this.#states ?? [];
  }

  /** Answers to keyed calls, as a new list. */
  get answers(): AnswerRow[] {
    return [...(this.#answers?.values() ?? [])];
  }

  /** Whether the next checkpoint deletes stored rows. */
  get isTrimming(): boolean {
    return this.#trim !== undefined;
  }

  /**
   * Schedules rows up to a floor for deletion. Rows up to `from` are already deleted or scheduled.
   */
  trim(from: RowCounts, to: Floor): void {
    this.#trim = { from: this.#trim?.from ?? from, to };
  }

  /** Finds the answer to a key. */
  answerTo(key: string): AnswerRow | undefined {
    return this.#answers?.get(key);
  }

  /** Approximate memory of the answers alone, in bytes. */
  get answerBytes(): number {
    return this.#answerBytes;
  }

  /** Approximate memory for all rows, in bytes. */
  get bytes(): number {
    const mapBytes = this.#answers === undefined ? 0 : MAP_BYTES;
    return LISTS_BYTES + mapBytes + this.#rowBytes + this.#answerBytes;
  }

  /** Adds a processed observation. */
  addHistory(row: HistoryRow): void {
    const packed = OBSERVATIONS.pack(row);
    this.#history.push(packed);
    this.#rowBytes += HISTORY_ROW_BYTES + packed.length;
  }

  /** Adds a drift event. */
  addDrift(row: DriftRow): void {
    this.#drift.push(row);
    this.#rowBytes += DRIFT_ROW_BYTES + row.deviationJson.length + row.affectedModesJson.length;
  }

  /** Adds a state at a past position. */
  addState(row: StateRow): void {
    this.#states ??= [];
    this.#states.push(row);
    this.#rowBytes += STATE_ROW_BYTES + row.state.length;
  }

  /** Adds a keyed answer. */
  addAnswer(row: AnswerRow): void {
    this.#remove(this.answerTo(row.key));
    this.#answers ??= new Map();
    this.#answers.set(row.key, row);
    this.#answerBytes += bytesOfAnswer(row);
  }

  /** Returns the oldest answers, up to `bytesMax` in total, but at least one answer. */
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

  /** Drops stored answers, except keys that have a newer answer. */
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
      answers: this.answers,
      states: this.states.slice(),
      trim: this.#trim,
      bytes: this.#rowBytes,
    };
  }

  /** Drops stored rows. Keeps rows that were added after the copy. */
  drop({ history, drift, answers, states, trim, bytes }: RowsCopy): void {
    this.#history.splice(0, history.length);
    this.#drift.splice(0, drift.length);
    this.#states?.splice(0, states.length);
    this.dropAnswers(answers);
    this.#rowBytes -= bytes;
    const to = this.#trim?.to;
    if (trim === undefined || to === undefined) return;
    // A floor that was set after the copy remains scheduled.
    this.#trim = to === trim.to ? undefined : { from: trim.to, to };
  }

  /** Whether no unstored rows remain. */
  get isEmpty(): boolean {
    if (this.isTrimming || this.states.length > 0) return false;
    return this.#history.length + this.#drift.length + (this.#answers?.size ?? 0) === 0;
  }
}

function bytesOfAnswer({ key, fingerprint, body, etag }: AnswerRow): number {
  const names = key.length + fingerprint.length + etag.length;
  return ANSWER_ROW_BYTES + names + bytesOfText(body);
}

/** Memory per unpacked model, in bytes. `test/engine/instance/held-bytes` checks the estimates. */
const MODEL_BYTES = 1_100;

/** Memory of a packed model without its characters, in bytes. */
const PACKED_BYTES = 16;

/** Memory of a head's rows, without text, in bytes. */
const ROWS_BYTES = 60;

/** Memory per floor without state, in bytes. */
const FLOOR_BYTES = 110;

/** Characters that take two bytes in memory. A single such character doubles the whole text. */
const WIDE = /[\u0100-\uffff]/;

/** Memory that a text takes, in bytes. */
export function bytesOfText(text: string): number {
  return WIDE.test(text) ? 2 * text.length : text.length;
}

/** Memory of the text in a head or a change, in bytes. */
export function bytesOfHeadText({ name = '', description = '', tagsJson = '' }: Texts = {}) {
  return bytesOfText(name) + bytesOfText(description) + bytesOfText(tagsJson);
}

/** Memory of a head's model, in bytes; 0 for a deleted instance. */
function bytesOfModel(head: HeldHead | undefined): number {
  if (head === undefined || head.deletedAtMs !== undefined) return 0;
  const { model } = head;
  return typeof model === 'string' ? PACKED_BYTES + model.length : MODEL_BYTES;
}

/** Memory of a head's newest rows and floor, in bytes. */
function bytesOfRows(head: HeldHead | undefined): number {
  if (head === undefined) return 0;
  const bytesOf = (newest: NewestRows) =>
    newest === NO_ROWS ? 0 : ROWS_BYTES + newest.rows.length;
  const { floor } = head;
  const floorBytes = floor === undefined ? 0 : FLOOR_BYTES + (floor.state?.length ?? 0);
  return floorBytes + bytesOf(head.newestHistory) + bytesOf(head.newestDrift);
}

/** Estimated memory per event without text, in bytes. */
const EVENT_BYTES = 200;

/** Estimated memory per observation without its context, in bytes. */
const OBSERVATION_BYTES = 150;

/** Stored head, and the replayed events after the head. */
type Recovery = {
  readonly head: PackedHead | undefined;
  readonly events: readonly InstanceEvent[];
  /** Memory of names, descriptions and tags in head and events, in bytes. The head shares them. */
  readonly textBytes: number;
  /** Approximate memory that only the recovery holds, in bytes. */
  readonly bytes: number;
};

/**
 * An instance's recovery. Until the next checkpoint, retries can get the answers to replayed
 * records (decision 90, retries after a fail-over).
 */
export function recoveryOf(head: HeldHead | undefined, events: readonly InstanceEvent[]): Recovery {
  const textBytes = events.reduce((sum, one) => sum + bytesOfTexts(one), bytesOfHeadText(head));
  const shells = events.reduce((sum, { change }) => {
    const observations = change.kind === 'observed' ? change.observations : [];
    const contextBytes = observations.reduce(
      (total, one) => total + bytesOfText(one.contextJson),
      0,
    );
    return sum + EVENT_BYTES + observations.length * OBSERVATION_BYTES + contextBytes;
  }, 0);
  // Count the model, because only the recovery keeps the stored model after the first event.
  const bytes = shells + bytesOfModel(head);
  return { head: head && packedHead(head), events, textBytes, bytes };
}

/**
 * Returns the recovery after text has left head or rows. From then on, only the recovery holds the
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
  const { kind } = change;
  const isNaming = kind === 'created' || kind === 'forked' || kind === 'renamed';
  return isNaming ? bytesOfHeadText(change) : 0;
}

/** Inputs of the interval rule. All times are Unix milliseconds. */
export type IntervalBasis = {
  /** The generation's last accepted observation time; undefined: none yet. */
  readonly observedAtMs: number | undefined;
  /** Time by the wall clock. */
  readonly nowMs: number;
  /** Time by a clock that never steps back, from `presentOf`. */
  readonly presentMs: number;
};

/** The first observation's time, or throttled if the observations are too early. */
export type Timing =
  | { readonly kind: 'accepted'; readonly firstMs: number }
  | { readonly kind: 'throttled'; readonly retryAfterS: number };

/**
 * Present time by a wall clock that never steps back: advances at least as far as the monotonic
 * clock since the wall clock was `leadMs` ahead of it. Source: decision 152.
 */
export function presentOf(leadMs: number, { wallMs, monotonicMs }: Instant): number {
  return Math.max(wallMs, monotonicMs + leadMs);
}

/**
 * Time of the first of `count` observations in a call.
 *
 * `callerMs` is the caller's first timestamp; if set, all observations have timestamps. Without
 * timestamps, the observations are one second apart and end now, if the previous observation leaves
 * enough time. Source: decisions 1 and 8.
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
 * The wall clock can be before the earliest allowed time even after this time has passed: the clock
 * stepped back, or a former owner's clock was ahead. The timestamp is then the earliest allowed
 * time; otherwise the instance would refuse all observations for long. If the previous observation
 * is ahead for another reason, such as a spread batch or a caller's timestamp, the call is
 * throttled. Source: decision 152.
 */
function stampOf({ nowMs, presentMs }: IntervalBasis, earliestMs: number | undefined): number {
  if (earliestMs === undefined || nowMs >= earliestMs) return nowMs;
  return Math.min(presentMs, earliestMs);
}

/** One step out of this number is timed, because two clock reads cost a twentieth of a step. */
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
   * Must be called before a step. Returns the monotonic start time in milliseconds, or undefined if
   * the step is not timed.
   */
  start(): number | undefined {
    if (this.#stepsLeft > 0) {
      this.#stepsLeft -= 1;
      return undefined;
    }
    this.#stepsLeft = STEPS_PER_SAMPLE - 1;
    return this.#clock.monotonicMs();
  }

  /** Must be called after a step, with the value from `start`. */
  stop(startedMs: number | undefined): void {
    if (startedMs === undefined) return;
    this.#observe((this.#clock.monotonicMs() - startedMs) / 1_000);
  }
}
