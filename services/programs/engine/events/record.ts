import type {
  AnswerKey,
  InstanceChange,
  InstanceEvent,
  KeyedItems,
  TimedObservation,
} from '#engine/instance/event';
import { headOf, type InstanceState } from '#engine/instance/state';
import { MODELS, type Models } from '#identity/model';
import { CorruptState } from '#storage/ports/bytes';
import { storedDrift, storedHistory } from '#storage/ports/chunks';
import {
  type DriftRow,
  type Floor,
  type HistoryRow,
  type InstanceStore,
  trimmedOf,
} from '#storage/ports/instances';

/*
 * Journal form of an event: nested lists, because field names would be more than half of the text.
 * An observation takes 40 to 60 characters, and a node that takes over reads 200,000 of them.
 */

/** Context of an observation without a context. Left out of the record. */
const NO_CONTEXT = '{}';

/**
 * Encodes an event as `[model version, server time, key, kind, …fields of the kind]`, plain JSON
 * data.
 */
export function recordOfEvent({ modelVersion, atMs, answerKey, change }: InstanceEvent): unknown {
  return [modelVersion, atMs, recordOfKey(answerKey), change.kind, ...fieldsOf(change)];
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
      const bytes = state === undefined ? null : Buffer.from(state, 'latin1').toString('base64');
      return [history, drift, generation, cycle, timestampMs, bytes];
    }
  }
}

function rowOf({ mode, signal, confidence, timestampMs, contextJson }: TimedObservation) {
  const row = [mode, signal, confidence, timestampMs];
  return contextJson === NO_CONTEXT ? row : [...row, contextJson];
}

/**
 * Decodes the event of a record. Throws an Error when the record is invalid or `models` lacks its
 * model.
 */
export function eventOfRecord(record: unknown, models: Models = MODELS): InstanceEvent {
  const [modelVersion, atMs, key, kind, ...fields] = listOf(record);
  if (typeof modelVersion !== 'string' || typeof atMs !== 'number') throw unreadable();
  // Check the model first: another model may have other fields.
  if (models.find(modelVersion) === undefined) {
    const known = models.versions.join(', ');
    throw new Error(`the journal needs model ${modelVersion}; this program has ${known}`);
  }
  const change = changeOf(kind, fields);
  return { modelVersion, atMs, answerKey: keyOf(key), change };
}

// The functions below trust the types of fields: only this file writes them, into the service's own
// journal.
function changeOf(kind: unknown, fields: readonly unknown[]): InstanceChange {
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
    default:
      throw unreadable();
  }
}

/**
 * `[keys, "a" (applied) or "r" (replayed) per item]`. Release 1.0 ignores this field and applies
 * the observations.
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
  const state = bytes === null ? undefined : Buffer.from(bytes, 'base64').toString('latin1');
  return { history, drift, generation, cycle, timestampMs, state };
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
  return new Error('the journal holds an event that is none');
}

/** Rows of an instance by ordinal, from memory, the head or chunks. Rejects as the store does. */
export type EventRows = {
  /** Observations with ordinals from `first` to `last`, oldest first. */
  history(first: number, last: number): Promise<readonly HistoryRow[]>;
  /** Drift events with ordinals from `first` to `last`, oldest first. */
  drift(first: number, last: number): Promise<readonly DriftRow[]>;
  /** Number of drift events up to and including the cycle of `observation`. */
  driftUpTo(observation: HistoryRow): Promise<number>;
};

type StoredRows<Row> = (wanted: { newest: number; count: number }) => Promise<Row[]>;

/** Rows of an instance in its present state. Valid for one turn. */
export function eventRowsOf(
  instanceId: string,
  state: InstanceState,
  store: InstanceStore,
): EventRows {
  const head = headOf(state);
  const { history = [], drift = [] } = state.unstored ?? {};
  // The counts of the head include rows that are not stored yet.
  const stored = {
    ...head,
    historyCount: head.historyCount - history.length,
    driftCount: head.driftCount - drift.length,
  };
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

/**
 * Rows from `first` to `last`. The rows in memory follow the `storedCount` rows in the head and
 * chunks.
 */
async function rowsBetween<Row>(
  { first, last }: { readonly first: number; readonly last: number },
  inMemory: readonly Row[],
  storedCount: number,
  read: StoredRows<Row>,
): Promise<readonly Row[]> {
  const top = inMemory.slice(Math.max(0, first - 1 - storedCount), Math.max(0, last - storedCount));
  const newest = Math.min(last, storedCount);
  if (first > newest) return top;
  const count = newest - first + 1;
  const below = await read({ newest, count });
  if (below.length < count) throw new CorruptState(`rows ${first} to ${newest} are not all there`);
  return [...below.reverse(), ...top];
}

/**
 * Last ordinal above `from`, up to `to`, for which `belongs` holds; `from` if there is none. Binary
 * search.
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
