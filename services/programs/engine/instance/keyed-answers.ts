import { createHash } from 'node:crypto';
import type { Turn } from '#actor-runtime/turn';
import type { AnswerKey } from '#engine/instance/event';
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
import { mixBits } from '#stdlib/hash-map';
import {
  ANSWER_AGE_MS,
  type AnswerRow,
  type InstanceStore,
  type RecentCall,
} from '#storage/ports/instances';

/**
 * Maximum age of a key whose answer is not looked up, in milliseconds. The id of its call is
 * remembered for 20 s.
 */
const FRESH_KEY_AGE_MS = 10_000;

/**
 * Maximum time that a caller's clock may be ahead for its key to count as fresh, in milliseconds
 * (architecture 3.5).
 */
const FRESH_KEY_AHEAD_MS = 5_000;

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * Stored answer for a keyed call, if there is one. Source: decision 22.
 *
 * The answer comes from memory at once, or from the store with one read. No read is needed if the
 * key is too young to be stored and its call was not seen before.
 */
export function findAnswer(
  call: EngineCall,
  rowKey: string,
  state: InstanceState,
  { wallMs, earlierVersion }: Pick<Turn<unknown>, 'wallMs' | 'earlierVersion'>,
  store: InstanceStore,
): AnswerRow | undefined | Promise<AnswerRow | undefined> {
  // The answers were deleted with the instance, though the store may still hold them.
  if (!isLive(state)) return undefined;
  const inMemory = state.unstored?.answerTo(rowKey);
  if (inMemory !== undefined) return isExpired(inMemory, wallMs) ? undefined : inMemory;
  const isNewCall = earlierVersion === undefined && isSurelyNew(call, wallMs);
  if (isNewCall && !hasRecentItemKeys(state, wallMs)) return undefined;
  return store.findAnswer(call.instanceId, rowKey, wallMs - ANSWER_AGE_MS);
}

/**
 * Repeats the stored answer. Undefined if the key was an item's of a batch, whose row has no
 * answer. Throws `invalid_request` when the key was used for another request.
 */
export function replayOf(
  row: AnswerRow,
  { idempotency, command }: Pick<EngineCall, 'idempotency' | 'command'>,
): EngineAnswer | undefined {
  if (row.fingerprint !== idempotency?.fingerprint && !isSameObservation(row, command)) {
    const text = 'this Idempotency-Key was used for another request';
    throw invalid('idempotency_key_reused', 'Idempotency-Key', text);
  }
  const { body, etag } = row;
  return body === '' ? undefined : { ...plainAnswer(body, etag), isReplayed: true };
}

/** Whether a single call has the same observation as the batch item that left the row. */
function isSameObservation({ fingerprint }: AnswerRow, command: EngineCommand): boolean {
  if (command.kind !== 'process' || command.isBatch) return false;
  const [observation] = command.observations;
  return observation !== undefined && fingerprintOfObservation(observation) === fingerprint;
}

/** Refusal of a call that may only repeat a stored answer, when none is stored. */
export function nothingToReplay(): Fault {
  return new Fault('quota_exceeded', 'the monthly quota is used up');
}

/**
 * Whether a call with an unseen id is surely new: it had no other id before, and its key is fresh.
 */
function isSurelyNew({ idempotency }: EngineCall, nowMs: number): boolean {
  return idempotency?.isNameUnsure !== true && isFresh(idempotency?.key ?? '', nowMs);
}

function isFresh(key: string, nowMs: number): boolean {
  if (!UUID_V7.test(key)) return false;
  const madeAtMs = Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16);
  return madeAtMs > nowMs - FRESH_KEY_AGE_MS && madeAtMs < nowMs + FRESH_KEY_AHEAD_MS;
}

/*
 * Idempotency keys of batch items (decision 280). An applied item leaves an answer row under the
 * same name as a single call with its key, so that batches and single calls find each other's keys.
 * The row of an item has no body: a replay shows the present state.
 */

type Process = Extract<EngineCommand, { kind: 'process' }>;

/** Outcome of one item in the answer's `results`. Source: interface 4.2. */
export type ItemStatus = 'applied' | 'replayed' | 'throttled';

/** Answer rows of a batch's keys, by row key. */
type KnownRows = ReadonlyMap<string, AnswerRow>;

/** Items of a batch, split into items to apply and items that were applied before. */
export type SortedItems = {
  /** The items to apply, in input order. */
  readonly fresh: readonly ObservationInput[];
  /** Keys under which the `fresh` items are remembered, one per item. */
  readonly keys: readonly (AnswerKey | undefined)[];
  /** One status per item of the batch, in input order. */
  readonly statuses: readonly ('applied' | 'replayed')[];
};

/**
 * Answer rows of a batch's keys: from memory, and all others with one read of the store. Fresh keys
 * are looked up too, because the id of the call says nothing about its items.
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
 * Splits the items of a batch. An item is replayed if its key is known, or if an earlier item of
 * the batch has the same key. `earlierVersion`: version at which this call was committed before;
 * its own items then count as applied. Throws `idempotency_key_reused` with the item's field if the
 * key belongs to another observation.
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
    const isSame = known === fingerprint || known === itemKey.fingerprint;
    // The whole batch would be stored under the key of one of its items.
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
 * Checks the times of the items to apply (decision 8). The edge cannot check them, because it does
 * not know which items are replayed. Throws `invalid_request` with the field of the first misplaced
 * item.
 */
export function assertFreshOrder({ fresh, statuses }: SortedItems): void {
  const misplaced = firstMisplaced(fresh.map(({ timestampMs }) => timestampMs));
  if (misplaced === undefined) return;
  const places = statuses.flatMap((status, index) => (status === 'applied' ? index : []));
  const field = `observations[${places[misplaced.index]}].timestamp`;
  const text =
    misplaced.reason === 'timestamp_order'
      ? 'less than 1.000 s after the one before'
      : 'all observations that are not replayed carry one, or none';
  throw invalid(misplaced.reason, field, `${field}: ${text}`);
}

/** Statuses when the items to apply came too early. */
export function throttledOf({ statuses }: SortedItems): readonly ItemStatus[] {
  return statuses.map((status) => (status === 'applied' ? 'throttled' : status));
}

function reused(index: number): Fault {
  const field = `observations[${index}].idempotency_key`;
  return invalid('idempotency_key_reused', field, `${field}: was used for another observation`);
}

/*
 * Mark of the newest batch with item keys. The mark is the first entry of a head's `recentCalls`,
 * so that a new owner of the instance has it too. Releases without item keys ignore the mark,
 * because no call has its id.
 */

/** Call id of the mark in `recentCalls`. */
const ITEM_KEYS_MARK = 2 ** 52 - 1;

/**
 * Time for which the mark is kept, in milliseconds. Longer than a key counts as fresh, with a
 * margin for clock differences.
 */
const ITEM_KEYS_MARK_AGE_MS = 60_000;

const NONE: readonly RecentCall[] = [];

/** `recentCalls` of a head after a batch with item keys. */
export function marked(version: number, atMs: number): readonly RecentCall[] {
  return [{ callId: ITEM_KEYS_MARK, version, atMs }];
}

/** `recentCalls` of a head after observations without item keys: the mark, while it is young. */
export function keptMark(recentCalls: readonly RecentCall[], atMs: number): readonly RecentCall[] {
  if (recentCalls.length === 0 || !isMarked(recentCalls, atMs)) return NONE;
  return recentCalls.length === 1 ? recentCalls : recentCalls.slice(0, 1);
}

/** `recentCalls` of a head to store: its mark, if there is one, and then the calls. */
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
 * Whether items with keys may have been applied in the last minute. A fresh key of a single call
 * may then belong to such an item, and is looked up.
 */
function hasRecentItemKeys(state: InstanceState, nowMs: number): boolean {
  return isMarked(headOf(state).recentCalls, nowMs);
}

function isMarked([first]: readonly RecentCall[], nowMs: number): boolean {
  return first?.callId === ITEM_KEYS_MARK && first.atMs > nowMs - ITEM_KEYS_MARK_AGE_MS;
}

/**
 * Length of an observation's fingerprint in hex characters: 128 bits. A call's fingerprint has 64
 * bits.
 */
const FINGERPRINT_LENGTH = 32;

/**
 * Fingerprint of an observation's meaning: mode, signal, confidence, own timestamp and context. The
 * JSON layout of the request does not matter.
 */
function fingerprintOfObservation(observation: ObservationInput): string {
  const { mode, signal, confidence, timestampMs = null, contextJson } = observation;
  const text = JSON.stringify([mode, signal, confidence, timestampMs, contextJson]);
  return createHash('sha256').update(text).digest('hex').slice(0, FINGERPRINT_LENGTH);
}

/**
 * Name of the answer row for a key on an instance. A batch item's row has the same name, so that
 * single calls and batches find each other's keys (decisions 22 and 280).
 */
export function callKeyOf(key: string): string {
  return `call:${key}`;
}

/** Whether an answer is too old to be repeated. */
function isExpired({ atMs }: AnswerRow, nowMs: number): boolean {
  return atMs < nowMs - ANSWER_AGE_MS;
}

/**
 * Odd constants that make the two halves of a tag independent: 2^32 over the golden ratio and over
 * √3.
 */
const SALT_HIGH = 0x9e3779b9;
const SALT_LOW = 0x93cd3a2d;

/** Position of the digits in an id, after `inst_`. */
const ID_DIGITS_AT = 5;
const HALF_DIGITS = 8;

const DIGIT_ZERO = '0'.charCodeAt(0);
const LETTER_A = 'a'.charCodeAt(0);

const TAG_START = fragment('"snap_');
const TAG_END = fragment('"');

/**
 * The strong ETag of an instance at a version: `"snap_` + 16 hex + `"`, quotes included. Equal for
 * equal (instance, version), different for different versions of one instance. Source: decision 21.
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

/** Whether an `If-Match` value names the tag; `*` names any. Weak tags never match (RFC 9110). */
export function isMatched(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag);
}

/**
 * Throws `conflict` if the call has an `If-Match` that does not name this version (decision 21).
 */
export function assertMatch(
  { ifMatch, instanceId }: Pick<EngineCall, 'ifMatch' | 'instanceId'>,
  version: number,
): void {
  if (ifMatch === undefined || isMatched(ifMatch, etagOf(instanceId, version))) return;
  throw faultFor('version_mismatch', 'the instance has changed since this ETag', {
    field: 'If-Match',
  });
}

/** Eight lower-case hex digits as a 32-bit number. */
function hexAt(text: string, at: number): number {
  let value = 0;
  for (let index = at; index < at + HALF_DIGITS; index++) {
    const unit = text.charCodeAt(index);
    value = (value << 4) | (unit < LETTER_A ? unit - DIGIT_ZERO : unit - LETTER_A + 10);
  }
  return value;
}
