import { createHash } from 'node:crypto';
import type { Turn } from '#actor-runtime/turn';
import { type AnswerKey, type InstanceChange, isSingle } from '#engine/instance/event';
import { headOf, type InstanceState, isLive } from '#engine/instance/state';
import { fragment, put, putHex, textUpTo } from '#engine/json';
import { Fault, faultFor, invalid } from '#errors/fault';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineCommand,
  type ObservationInput,
  plainAnswer,
} from '#grpc/engine-messages';
import { firstMisplaced } from '#identity/observation-order';
import { MODEL_VERSION } from '#identity/state';
import { mixBits } from '#stdlib/hash-map';
import {
  ANSWER_AGE_MS,
  type AnswerRow,
  type HeldHead,
  type InstanceStore,
  type RecentCall,
} from '#storage/ports/instances';

/**
 * Maximum age for a key that needs no lookup, in milliseconds. The actor remembers call ids for 20
 * s.
 */
const FRESH_KEY_AGE_MS = 10_000;

/**
 * Maximum time that a fresh key may be ahead of this node's clock, in milliseconds (architecture
 * 3.5).
 */
const FRESH_KEY_AHEAD_MS = 5_000;

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * Finds the stored answer for a keyed call. Source: decision 22.
 *
 * Looks in memory first. If memory has no answer, reads the store once. Skips the store if the key
 * is too young to be stored and the call is new.
 */
export function findAnswer(
  call: EngineCall,
  rowKey: string,
  state: InstanceState,
  { wallMs, earlierVersion }: Pick<Turn<unknown>, 'wallMs' | 'earlierVersion'>,
  store: InstanceStore,
): AnswerRow | undefined | Promise<AnswerRow | undefined> {
  // The answers were deleted with the instance, even if the store still has them.
  if (!isLive(state)) return undefined;
  const inMemory = state.unstored?.answerTo(rowKey);
  if (inMemory !== undefined) return isExpired(inMemory, wallMs) ? undefined : inMemory;
  const isNewCall = earlierVersion === undefined && isSurelyNew(call, wallMs);
  if (isNewCall && !hasRecentItemKeys(state, wallMs)) return undefined;
  return store.findAnswer(call.instanceId, rowKey, wallMs - ANSWER_AGE_MS);
}

/**
 * Repeats a stored answer. Undefined if the row has no body. Throws `invalid_request` if the key
 * belongs to another request.
 */
export function replayOf(
  row: AnswerRow,
  { idempotency, command }: Pick<EngineCall, 'idempotency' | 'command'>,
): EngineAnswer | undefined {
  if (!isSameCall(row.fingerprint, idempotency?.fingerprint) && !isSameObservation(row, command)) {
    const text = 'this Idempotency-Key was used for another request';
    throw invalid('idempotency_key_reused', 'Idempotency-Key', text);
  }
  const { body, etag } = row;
  return body === '' ? undefined : { ...plainAnswer(body, etag), isReplayed: true };
}

/**
 * Whether an answer at the present position can be rebuilt later (decision 22). Release 1.0 has only
 * model 1.0. Release 1.0 stored no past states, and needs the body of an answer. A floor without
 * a state hides the states below the floor.
 */
export function isRebuildable({
  modelVersion,
  floor,
}: Pick<HeldHead, 'modelVersion' | 'floor'>): boolean {
  return modelVersion !== MODEL_VERSION && (floor === undefined || floor.state !== undefined);
}

/** Length of the fingerprint in a row with a position, in hex characters: 128 bits. */
const SHORT_LENGTH = 32;

/** Fingerprint of a call for its row. Short, if the row of the change has a position. */
export function rowFingerprint(
  fingerprint: string,
  change: InstanceChange,
  modelVersion: string,
): string {
  const isShort = isSingle(change) && modelVersion !== MODEL_VERSION;
  return isShort ? fingerprint.slice(0, SHORT_LENGTH) : fingerprint;
}

/** Whether a row belongs to a call with this fingerprint. */
function isSameCall(ofRow: string, ofCall: string | undefined): boolean {
  if (ofRow.length !== SHORT_LENGTH) return ofRow === ofCall;
  return ofCall?.startsWith(ofRow) === true;
}

/** Whether a single call has the same observation as the row's batch item. */
function isSameObservation({ fingerprint }: AnswerRow, command: EngineCommand): boolean {
  if (command.kind !== 'process' || command.isBatch) return false;
  const [observation] = command.observations;
  return observation !== undefined && fingerprintOfObservation(observation) === fingerprint;
}

/** Fault of a replay-only call without a stored answer: the monthly quota is used up. */
export function nothingToReplay(): Fault {
  return new Fault('quota_exceeded', 'the monthly quota is used up');
}

/** Whether a call with a new id is certainly new: its key is fresh and had no other call id. */
function isSurelyNew({ idempotency }: EngineCall, nowMs: number): boolean {
  return idempotency?.isNameUnsure !== true && isFresh(idempotency?.key ?? '', nowMs);
}

function isFresh(key: string, nowMs: number): boolean {
  if (!UUID_V7.test(key)) return false;
  const madeAtMs = Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16);
  return madeAtMs > nowMs - FRESH_KEY_AGE_MS && madeAtMs < nowMs + FRESH_KEY_AHEAD_MS;
}

/*
 * Idempotency keys for batch items (decision 280). Single calls and batch items use the same names
 * for answer rows, so that each of them finds a key that the other has used. An item's row has no
 * body: a replay answers with the present state.
 */

type Process = Extract<EngineCommand, { kind: 'process' }>;

/** Item outcome in the answer's `results`. Source: interface 4.2. */
export type ItemStatus = 'applied' | 'replayed' | 'throttled';

/** Answer rows for a batch's keys, by row key. */
type KnownRows = ReadonlyMap<string, AnswerRow>;

/** Batch items, divided into new items and already applied items. */
export type SortedItems = {
  /** Items to apply, in input order. */
  readonly fresh: readonly ObservationInput[];
  /** Keys to store for the `fresh` items, one entry per item. */
  readonly keys: readonly (AnswerKey | undefined)[];
  /** Statuses for all batch items, in input order. */
  readonly statuses: readonly ('applied' | 'replayed')[];
};

/**
 * Answer rows for a batch's keys: from memory, and the rest with a single store read. Also looks up
 * fresh keys, because a new call id does not imply new items.
 */
export async function findItemRows(
  { instanceId }: Pick<EngineCall, 'instanceId'>,
  { itemKeys = [] }: Pick<Process, 'itemKeys'>,
  { unstored }: Pick<InstanceState, 'unstored'>,
  nowMs: number,
  store: Pick<InstanceStore, 'findAnswers'>,
): Promise<KnownRows> {
  const rowKeys = new Set(itemKeys.flatMap((one) => (one === undefined ? [] : callKeyOf(one.key))));
  const rows: AnswerRow[] = [];
  const unknown: string[] = [];
  for (const rowKey of rowKeys) {
    const row = unstored?.answerTo(rowKey);
    if (row === undefined) unknown.push(rowKey);
    else rows.push(row);
  }
  if (unknown.length > 0) {
    rows.push(...(await store.findAnswers(instanceId, unknown, nowMs - ANSWER_AGE_MS)));
  }
  return new Map(rows.filter((row) => !isExpired(row, nowMs)).map((row) => [row.key, row]));
}

/**
 * Divides the batch items. An item is replayed if its key is stored, or if an earlier item of the
 * batch has the same key. `earlierVersion`: version at which this call was committed before; the
 * items of that commit are returned as applied. Throws `idempotency_key_reused` with the item's
 * field if the key belongs to another observation.
 */
export function sortItems(
  { instanceId, idempotency }: Pick<EngineCall, 'instanceId' | 'idempotency'>,
  { observations, itemKeys = [] }: Process,
  rows: KnownRows,
  earlierVersion: number | undefined,
): SortedItems {
  const ownTag = earlierVersion === undefined ? undefined : etagOf(instanceId, earlierVersion);
  const inBatch = new Map<string, string>();
  const fresh: ObservationInput[] = [];
  const keys: (AnswerKey | undefined)[] = [];
  const statuses = observations.map((observation, index) => {
    const itemKey = itemKeys[index];
    if (itemKey === undefined) {
      fresh.push(observation);
      keys.push(undefined);
      return 'applied';
    }
    const key = callKeyOf(itemKey.key);
    const fingerprint = fingerprintOfObservation(observation);
    const row = rows.get(key);
    const known = inBatch.get(key) ?? row?.fingerprint;
    const isSame =
      known !== undefined && (known === fingerprint || isSameCall(known, itemKey.fingerprint));
    // The call's key already names the whole batch's answer row.
    const isOfBatch = itemKey.key === idempotency?.key;
    if (isOfBatch || (known !== undefined && !isSame)) throw reused(index);
    const isOwn = ownTag !== undefined && row?.etag === ownTag && !inBatch.has(key);
    if (known !== undefined && !isOwn) return 'replayed';
    inBatch.set(key, fingerprint);
    fresh.push(observation);
    keys.push({ key, fingerprint });
    return 'applied';
  });
  return { fresh, keys, statuses };
}

/**
 * Checks the new items' times (decision 8). The edge cannot check, because only the engine can find
 * replayed items. Throws `invalid_request` with the first misplaced item's field.
 */
export function assertFreshOrder({ fresh, statuses }: SortedItems): void {
  const misplaced = firstMisplaced(fresh.map(({ timestampMs }) => timestampMs));
  if (misplaced === undefined) return;
  const places = statuses.flatMap((status, index) => (status === 'applied' ? index : []));
  const field = `observations[${places[misplaced.index]}].timestamp`;
  const text =
    misplaced.reason === 'timestamp_order'
      ? 'less than 1.000 s after the previous observation'
      : 'either all observations that are not replayed have a timestamp, or none has';
  throw invalid(misplaced.reason, field, `${field}: ${text}`);
}

/** Returns the statuses of all items if the new items come too early. */
export function throttledOf({ statuses }: SortedItems): readonly ItemStatus[] {
  return statuses.map((status) => (status === 'applied' ? 'throttled' : status));
}

function reused(index: number): Fault {
  const field = `observations[${index}].idempotency_key`;
  return invalid('idempotency_key_reused', field, `${field}: was used for another observation`);
}

/*
 * Marker for the newest batch with item keys: a head's first entry in `recentCalls`, so that a new
 * owner also has the marker. Releases without item keys ignore the marker, because no call has its
 * id.
 */

/** The marker's call id in `recentCalls`. */
const ITEM_KEYS_MARK = 2 ** 52 - 1;

/**
 * Marker lifetime, in milliseconds. Longer than the time for which a key is fresh, plus clock
 * differences.
 */
const ITEM_KEYS_MARK_AGE_MS = 60_000;

const NONE: readonly RecentCall[] = [];

/** A head's `recentCalls` after a batch with item keys. */
export function marked(version: number, atMs: number): readonly RecentCall[] {
  return [{ callId: ITEM_KEYS_MARK, version, atMs }];
}

/** A head's `recentCalls` after other observations: the marker, unless expired. */
export function keptMark(recentCalls: readonly RecentCall[], atMs: number): readonly RecentCall[] {
  if (recentCalls.length === 0 || !isMarked(recentCalls, atMs)) return NONE;
  return recentCalls.length === 1 ? recentCalls : recentCalls.slice(0, 1);
}

/** A stored head's `recentCalls`: the marker, if any, then the calls. */
export function recentWithMark(
  present: readonly RecentCall[],
  calls: readonly RecentCall[],
): readonly RecentCall[] {
  const [first] = present;
  if (calls.length === 0 && present.length < 2) return present;
  if (first?.callId !== ITEM_KEYS_MARK) return calls.length === 0 ? present : calls;
  return [first, ...calls.filter(({ callId }) => callId !== ITEM_KEYS_MARK)];
}

/**
 * Whether keyed batch items were applied within the last minute. A single call's fresh key may then
 * belong to such an item, so the key needs a lookup.
 */
function hasRecentItemKeys(state: InstanceState, nowMs: number): boolean {
  return isMarked(headOf(state).recentCalls, nowMs);
}

function isMarked([first]: readonly RecentCall[], nowMs: number): boolean {
  return first?.callId === ITEM_KEYS_MARK && first.atMs > nowMs - ITEM_KEYS_MARK_AGE_MS;
}

/** Observation fingerprint length in hex characters: 128 bits, against 64 for a call. */
const FINGERPRINT_LENGTH = 32;

/**
 * Observation fingerprint: mode, signal, confidence, own timestamp and context. Independent of the
 * JSON layout in the request.
 */
function fingerprintOfObservation(observation: ObservationInput): string {
  const { mode, signal, confidence, timestampMs = null, contextJson } = observation;
  const text = JSON.stringify([mode, signal, confidence, timestampMs, contextJson]);
  return createHash('sha256').update(text).digest('hex').slice(0, FINGERPRINT_LENGTH);
}

/**
 * Name of a key's answer row. Single calls and batch items use the same names (decisions 22 and
 * 280).
 */
export function callKeyOf(key: string): string {
  return `call:${key}`;
}

/** Whether an answer is too old for a replay. */
function isExpired({ atMs }: AnswerRow, nowMs: number): boolean {
  return atMs < nowMs - ANSWER_AGE_MS;
}

/** Odd constant for the high half of a tag: 2^32 over the golden ratio. */
const SALT_HIGH = 0x9e3779b9;
/** Odd constant for the low half, which makes both halves independent: 2^32 over √3. */
const SALT_LOW = 0x93cd3a2d;

/** Hex digit offset in an id, after `inst_`. */
const ID_DIGITS_AT = 5;
const HALF_DIGITS = 8;

const DIGIT_ZERO = '0'.charCodeAt(0);
const LETTER_A = 'a'.charCodeAt(0);

const TAG_START = fragment('"snap_');
const TAG_END = fragment('"');

/**
 * Strong ETag for an instance version: `"snap_`, 16 hex digits, `"`. Depends only on instance id
 * and version; differs between an instance's versions. Source: decision 21.
 */
export function etagOf(instanceId: string, version: number): string {
  const idHigh = hexAt(instanceId, ID_DIGITS_AT);
  const idLow = hexAt(instanceId, ID_DIGITS_AT + HALF_DIGITS);
  const versionHigh = Math.floor(version / 2 ** 32);
  const high = mixBits(idHigh ^ mixBits(version ^ SALT_HIGH));
  const low = mixBits(idLow ^ mixBits(version ^ SALT_LOW ^ mixBits(versionHigh)));
  const end = putHex(low, putHex(high, put(TAG_START, 0)));
  return textUpTo(put(TAG_END, end));
}

/** Whether `If-Match` matches the tag; `*` matches every tag. Weak tags never match (RFC 9110). */
export function isMatched(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag);
}

/** Throws `conflict` if the call has an `If-Match` without this version (decision 21). */
export function assertMatch(
  { ifMatch, instanceId }: Pick<EngineCall, 'ifMatch' | 'instanceId'>,
  version: number,
): void {
  if (ifMatch === undefined || isMatched(ifMatch, etagOf(instanceId, version))) return;
  throw faultFor('version_mismatch', 'the instance has changed since this ETag', {
    field: 'If-Match',
  });
}

/** Reads eight lower-case hex digits as a 32-bit number. */
function hexAt(text: string, at: number): number {
  let value = 0;
  for (let index = at; index < at + HALF_DIGITS; index++) {
    const unit = text.charCodeAt(index);
    value = (value << 4) | (unit < LETTER_A ? unit - DIGIT_ZERO : unit - LETTER_A + 10);
  }
  return value;
}
