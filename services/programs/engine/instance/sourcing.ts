import type { Checkpoint, EarlyRows, EventSourcing } from '#actor-runtime/event-sourcing';
import type { SideEffect } from '#actor-runtime/turn';
import { announcementOf, type Directory } from '#engine/directory/kind';
import { applyEvent, type InstanceApplied } from '#engine/instance/apply';
import {
  type AnswerKey,
  type InstanceChange,
  type InstanceEvent,
  isListedChange,
  type KeyedItems,
  type TimedObservation,
} from '#engine/instance/event';
import { recentWithMark } from '#engine/instance/keyed-answers';
import {
  addedHistory,
  CHUNK_BOUNDS,
  type ChunkBounds,
  type Cut,
  cutChunks,
  type HeadBounds,
} from '#engine/instance/rows';
import {
  bytesUnstored,
  headOf,
  type InstanceState,
  isLive,
  type ModelPorts,
  type RowsCopy,
  recoveryOf,
} from '#engine/instance/state';
import type { ForkStart, TagFields } from '#grpc/engine-messages';
import { MODELS, type Models } from '#identity/model';
import { CorruptState } from '#storage/ports/bytes';
import { newestAbove, storedDrift, storedHistory } from '#storage/ports/chunks';
import {
  type DriftRow,
  type Floor,
  type HeldHead,
  type HistoryRow,
  type InstanceAnswers,
  type InstanceCheckpoint,
  type InstanceStore,
  type NewestRows,
  type PackedRows,
  packedHead,
  type RecentCall,
  trimmedOf,
} from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS, type Packing } from '#storage/ports/rows';

/** Estimated size of a record without text, in bytes. */
const RECORD_BYTES = 200;

type SourcingPorts = {
  readonly store: Pick<InstanceStore, 'bucketOf' | 'checkpoint' | 'storeAnswers'>;
  /** Bounds for moving rows from a head to chunks. Undefined: `CHUNK_BOUNDS`. */
  readonly chunkBounds?: ChunkBounds | undefined;
  readonly directory: Directory;
  readonly model: ModelPorts;
};

/** Event sourcing for instances: applies, records and stores their events. */
export class InstanceSourcing
  implements EventSourcing<InstanceState, InstanceEvent, InstanceApplied, InstanceCheckpoint>
{
  /**
   * Keyed answers are stored early, because answers with a body are large. The answers of a deleted
   * instance are not stored early.
   */
  readonly earlyRows: EarlyRows<InstanceState, InstanceAnswers>;
  readonly #ports: SourcingPorts;

  constructor(ports: SourcingPorts) {
    this.#ports = ports;
    this.earlyRows = {
      sizeOf: (state) => (isLive(state) ? (state.unstored?.answerBytes ?? 0) : 0),
      copy: answersOf,
      store: (copies) => ports.store.storeAnswers(copies),
    };
  }

  apply(state: InstanceState, event: InstanceEvent, version: number, id: string): InstanceApplied {
    return applyEvent(id, state, event, version, this.#ports.model);
  }

  recordOf(event: InstanceEvent): unknown {
    return recordOfEvent(event);
  }

  read(record: unknown): InstanceEvent {
    return eventOfRecord(record, this.#ports.model.models);
  }

  sizeOfRecord({ change }: InstanceEvent): number {
    if (change.kind === 'trimmed') return RECORD_BYTES + 2 * (change.floor.state?.length ?? 0);
    const stateBytes = change.kind === 'forked' ? 2 * change.start.state.length : 0;
    const { tagsJson = '' } = change as TagFields;
    if (change.kind !== 'observed') return RECORD_BYTES + stateBytes + tagsJson.length;
    const keyBytes = (change.items?.keys ?? []).reduce((sum, one) => sum + bytesOfKey(one), 0);
    return change.observations.reduce(
      (sum, { contextJson }) => sum + RECORD_BYTES + contextJson.length,
      keyBytes,
    );
  }

  bucketOf(id: string): number {
    return this.#ports.store.bucketOf(id);
  }

  checkpoint(
    id: string,
    state: InstanceState,
    recentCalls: readonly RecentCall[],
  ): Checkpoint<InstanceState, InstanceCheckpoint> {
    const { unstored } = state;
    const present = headOf(state);
    const rows = unstored?.copy();
    const { head: cut, history, drift } = this.#cut(id, present, rows);
    // Most instances are idle: share a packed head with a store in this process, if possible.
    const recent = recentWithMark(present.recentCalls, recentCalls);
    const head = recent === cut.recentCalls ? cut : { ...cut, recentCalls: recent };
    const answers = rows?.answers ?? [];
    const parts = { answers, states: rows?.states, trimmedFrom: rows?.trim?.from };
    return {
      copy: { instanceId: id, head, history, drift, ...parts },
      forget: (later) => {
        later.recovery = undefined;
        if (later.head === present) later.head = cut;
        // If the instance was deleted meanwhile, these rows are already dropped.
        if (unstored === undefined || rows === undefined || later.unstored !== unstored) return;
        unstored.drop(rows);
        if (unstored.isEmpty) later.unstored = undefined;
        const { newestHistory, newestDrift } = cut;
        if (later.head !== cut) later.head = { ...headOf(later), newestHistory, newestDrift };
      },
    };
  }

  /** Splits the rows outside chunks: the newest rows go to the head, all others to new chunks. */
  #cut(id: string, present: HeldHead, rows: RowsCopy | undefined) {
    const packed = packedHead(present);
    if (rows === undefined) return { head: packed, history: [], drift: [] };
    const { historyCount, driftCount, newestHistory, newestDrift } = present;
    const { chunkBounds: bounds = CHUNK_BOUNDS } = this.#ports;
    const floor = trimmedOf(present);
    const history = { newest: newestHistory, added: rows.history, last: historyCount };
    const packedDrift = rows.drift.map(DRIFT_EVENTS.pack);
    const drift = { newest: newestDrift, added: packedDrift, last: driftCount };
    const ofHistory = cutAbove(OBSERVATIONS, id, history, floor.history, bounds.history);
    const ofDrift = cutAbove(DRIFT_EVENTS, id, drift, floor.drift, bounds.drift);
    return {
      head: { ...packed, newestHistory: ofHistory.newest, newestDrift: ofDrift.newest },
      history: ofHistory.chunks,
      drift: ofDrift.chunks,
    };
  }

  async store(copies: readonly InstanceCheckpoint[]): Promise<void> {
    await this.#ports.store.checkpoint(copies);
  }

  /**
   * Deletions and trims must delete stored rows before a promised deadline (decisions 200 and 234).
   */
  isUrgent({ head, unstored }: InstanceState): boolean {
    return head?.deletedAtMs !== undefined || unstored?.isTrimming === true;
  }

  sizeOfUnstored(state: InstanceState): number {
    return bytesUnstored(state);
  }

  beforeReplay(state: InstanceState, events: readonly InstanceEvent[]): InstanceState {
    return { ...state, recovery: recoveryOf(state.head, events) };
  }

  effectAfterReplay(
    id: string,
    state: InstanceState,
    events: readonly InstanceEvent[],
  ): SideEffect | undefined {
    const isListed = events.some(({ change }) => isListedChange(change.kind));
    return isListed ? announcementOf(id, headOf(state), this.#ports.directory) : undefined;
  }
}

function bytesOfKey(one: AnswerKey | undefined): number {
  return one === undefined ? 0 : one.key.length + one.fingerprint.length;
}

/** A table's rows: in the head, and added since, up to ordinal `last`. */
type TableRows = { newest: NewestRows; added: readonly PackedRows[]; last: number };

/** Cuts the rows above a floor into chunks and head rows. */
function cutAbove<Row extends { readonly ordinal: number }>(
  packing: Packing<Row>,
  id: string,
  { newest, added, last }: TableRows,
  floor: number,
  bounds: HeadBounds,
): Cut {
  const left = newestAbove(packing, id, newest, last - added.length, floor);
  const first = Math.max(0, floor - (last - added.length));
  return cutChunks(left, added.slice(first), last, bounds);
}

function answersOf(
  id: string,
  state: InstanceState,
  bytesMax: number,
): Checkpoint<InstanceState, InstanceAnswers> {
  const { unstored } = state;
  const answers = unstored?.copyAnswers(bytesMax) ?? [];
  return {
    copy: { instanceId: id, version: headOf(state).version, answers },
    forget: (later) => {
      // If the instance was deleted meanwhile, these answers are already dropped.
      if (later.unstored === unstored) unstored?.dropAnswers(answers);
    },
  };
}

/*
 * An event's journal form: nested lists, because field names would be more than half the text. An
 * observation has 40 to 60 characters; a takeover reads up to 200,000 observations.
 */

/** Empty context, omitted from the record. */
const NO_CONTEXT = '{}';

/**
 * Encodes an event as `[model version, server time, key, kind, …fields of the kind]`, plain JSON.
 */
export function recordOfEvent({ modelVersion, atMs, answerKey, change }: InstanceEvent): unknown {
  // A kind of its own, because release 1.0 would ignore added fields.
  const { tagsJson } = change as TagFields;
  const tagged = tagsJson === undefined ? [] : ['tagged', tagsJson];
  return [modelVersion, atMs, recordOfKey(answerKey), ...tagged, change.kind, ...fieldsOf(change)];
}

function recordOfKey(answerKey: AnswerKey | undefined): unknown {
  return answerKey === undefined ? null : [answerKey.key, answerKey.fingerprint];
}

function fieldsOf(change: InstanceChange): readonly unknown[] {
  switch (change.kind) {
    case 'created': {
      const { accountId, name, description, modeStrengths, energyLevel } = change;
      return [accountId, name, description, modeStrengths, energyLevel];
    }
    case 'forked': {
      const { accountId, name, description, start } = change;
      const { parentId, generation, cycle, originMs, observedAtMs, state } = start;
      const from = [parentId, generation, cycle, originMs, observedAtMs ?? null];
      return [accountId, name, description, ...from, base64Of(state)];
    }
    case 'renamed':
      return [change.name ?? null, change.description ?? null];
    case 'removed':
      return [];
    case 'observed': {
      const { isBatch, isEveryStateWanted, observations, items } = change;
      const fields = [isBatch, isEveryStateWanted, observations.map(rowOf)];
      return items === undefined ? fields : [...fields, recordOfItems(items)];
    }
    case 'reset':
      return [change.mode];
    case 'trimmed': {
      const { history, drift, generation, cycle, timestampMs, state } = change.floor;
      const bytes = state === undefined ? null : base64Of(state);
      return [history, drift, generation, cycle, timestampMs, bytes];
    }
  }
}

function rowOf({ mode, signal, confidence, timestampMs, contextJson }: TimedObservation) {
  const row = [mode, signal, confidence, timestampMs];
  return contextJson === NO_CONTEXT ? row : [...row, contextJson];
}

/**
 * Decodes an event. Throws an Error if the record is invalid or `models` lacks the record's model.
 */
export function eventOfRecord(record: unknown, models: Models = MODELS): InstanceEvent {
  const [modelVersion, atMs, key, kind, ...fields] = listOf(record);
  if (typeof modelVersion !== 'string' || typeof atMs !== 'number') throw unreadable();
  // Check the model first: another model may have other fields.
  if (models.find(modelVersion) === undefined) {
    const known = models.versions.join(', ');
    throw new Error(`the journal needs model ${modelVersion}, but this program has only ${known}`);
  }
  const change = changeOf(kind, fields, modelVersion);
  return { modelVersion, atMs, answerKey: keyOf(key), change };
}

// The functions below trust field types, because only this file writes these records.
function changeOf(kind: unknown, fields: readonly unknown[], modelVersion: string): InstanceChange {
  switch (kind) {
    case 'created': {
      const [accountId, name, description, modeStrengths, energyLevel] = fields as [
        string,
        string,
        string,
        readonly number[],
        number,
      ];
      return { kind, accountId, name, description, modeStrengths, energyLevel };
    }
    case 'forked': {
      const [accountId, name, description, ...start] = fields as [
        string,
        string,
        string,
        ...unknown[],
      ];
      return { kind, accountId, name, description, start: forkStartOf(start, modelVersion) };
    }
    case 'renamed': {
      const [name, description] = fields as [string | null, string | null];
      return { kind, name: name ?? undefined, description: description ?? undefined };
    }
    case 'removed':
      return { kind };
    case 'observed': {
      const [isBatch, isEveryStateWanted, rows, items] = fields as [boolean, boolean, ...unknown[]];
      const observations = listOf(rows).map(observationOf);
      const change = { kind, isBatch, isEveryStateWanted, observations } as const;
      return items === undefined ? change : { ...change, items: itemsOf(items) };
    }
    case 'reset':
      return { kind, mode: fields[0] as 'initial' | 'default' };
    case 'trimmed':
      return { kind, floor: floorOf(fields) };
    case 'tagged': {
      const [tagsJson, inner, ...rest] = fields as [string, ...unknown[]];
      return { ...changeOf(inner, rest, modelVersion), tagsJson } as InstanceChange;
    }
    default:
      throw unreadable();
  }
}

/**
 * `[keys, letters]`, with a letter per item: `a` for applied, `r` for replayed. Release 1.0 ignores
 * this field and applies the observations.
 */
function recordOfItems({ keys, statuses }: KeyedItems): unknown {
  const letters = statuses.map((status) => (status === 'applied' ? 'a' : 'r')).join('');
  return [keys.map(recordOfKey), letters];
}

function itemsOf(record: unknown): KeyedItems {
  const [keys, letters] = listOf(record) as [unknown, string];
  const statuses = Array.from(letters, (letter) => (letter === 'a' ? 'applied' : 'replayed'));
  return { keys: listOf(keys).map(keyOf), statuses };
}

function floorOf(fields: readonly unknown[]): Floor {
  const [bytes] = fields.slice(5) as [string | null];
  const [history, drift, generation, cycle, timestampMs] = fields as [
    ...[number, number, number, number, number],
    unknown,
  ];
  const state = bytes === null ? undefined : textOfBase64(bytes);
  return { history, drift, generation, cycle, timestampMs, state };
}

function forkStartOf(fields: readonly unknown[], modelVersion: string): ForkStart {
  const [parentId, generation, cycle, originMs, observedAtMs, state] = fields as [
    string,
    ...[number, number, number, number | null],
    string,
  ];
  const at = { parentId, generation, cycle, originMs, observedAtMs: observedAtMs ?? undefined };
  return { ...at, modelVersion, state: textOfBase64(state) };
}

/** Base64 of a packed state, which has one character per byte. */
function base64Of(state: string): string {
  return Buffer.from(state, 'latin1').toString('base64');
}

function textOfBase64(base64: string): string {
  return Buffer.from(base64, 'base64').toString('latin1');
}

function observationOf(row: unknown): TimedObservation {
  const [mode, signal, confidence, timestampMs, contextJson = NO_CONTEXT] = listOf(row) as [
    number,
    number,
    number,
    number,
    string?,
  ];
  return { mode, signal, confidence, timestampMs, contextJson };
}

function keyOf(pair: unknown): AnswerKey | undefined {
  if (pair === null) return undefined;
  const [key, fingerprint] = listOf(pair) as [string, string];
  return { key, fingerprint };
}

function listOf(json: unknown): readonly unknown[] {
  if (!Array.isArray(json)) throw unreadable();
  return json;
}

function unreadable(): Error {
  return new Error('the journal contains an invalid event');
}

/** An instance's rows by ordinal, from memory, head or chunks. Rejects like the store. */
export type EventRows = {
  /** Observations with ordinals `first` to `last`, oldest first. */
  history(first: number, last: number): Promise<readonly HistoryRow[]>;
  /** Drift events with ordinals `first` to `last`, oldest first. */
  drift(first: number, last: number): Promise<readonly DriftRow[]>;
  /** Number of drift events up to the cycle of `observation`, inclusive. */
  driftUpTo(observation: HistoryRow): Promise<number>;
};

/** Head of an instance, and the rows that the store lacks. */
type RowsHolder = {
  readonly head: HeldHead | undefined;
  readonly unstored: Pick<RowsCopy, 'history' | 'drift'> | undefined;
};

type StoredRows<Row> = (wanted: { newest: number; count: number }) => Promise<Row[]>;

/** An instance's rows in its present state. Valid within a turn. */
export function eventRowsOf(
  instanceId: string,
  state: RowsHolder,
  store: Pick<InstanceStore, 'readHistory' | 'readDrift'>,
): EventRows {
  const head = headOf(state);
  const { history: packed = [], drift = [] } = state.unstored ?? {};
  // The head also counts unstored rows.
  const stored = {
    ...head,
    historyCount: head.historyCount - packed.length,
    driftCount: head.driftCount - drift.length,
  };
  const history = addedHistory(instanceId, packed, stored.historyCount);
  const driftBetween = (first: number, last: number) =>
    rowsBetween({ first, last }, drift, stored.driftCount, (wanted) =>
      storedDrift(store, instanceId, stored, wanted),
    );
  return {
    history: (first, last) =>
      rowsBetween({ first, last }, history, stored.historyCount, (wanted) =>
        storedHistory(store, instanceId, stored, wanted),
      ),
    drift: driftBetween,
    driftUpTo: ({ generation, cycle }) =>
      lastUpTo(trimmedOf(head).drift, head.driftCount, async (ordinal) => {
        const [event] = await driftBetween(ordinal, ordinal);
        if (event === undefined)
          throw new CorruptState(`no drift event ${ordinal} of ${instanceId}`);
        const isEarlier = event.generation < generation;
        return isEarlier || (event.generation === generation && event.cycle <= cycle);
      }),
  };
}

/** Rows `first` to `last`. The rows in memory follow the `storedCount` rows in head and chunks. */
async function rowsBetween<Row>(
  { first, last }: { readonly first: number; readonly last: number },
  inMemory: { slice(from: number, to: number): readonly Row[] },
  storedCount: number,
  read: StoredRows<Row>,
): Promise<readonly Row[]> {
  const top = inMemory.slice(Math.max(0, first - 1 - storedCount), Math.max(0, last - storedCount));
  const newest = Math.min(last, storedCount);
  if (first > newest) return top;
  const count = newest - first + 1;
  const below = await read({ newest, count });
  if (below.length < count)
    throw new CorruptState(`some of the rows ${first} to ${newest} are missing`);
  return [...below.reverse(), ...top];
}

/**
 * Returns the last ordinal above `from` and up to `to` for which `belongs` is true, or `from` if
 * there is none. Binary search.
 */
async function lastUpTo(
  from: number,
  to: number,
  belongs: (ordinal: number) => Promise<boolean>,
): Promise<number> {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (await belongs(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
