import { fingerprintOfObservation, isExpired } from '#engine/answer-keys';
import { type InstanceState, isLive } from '#engine/instance-state';
import { hasRecentItemKeys } from '#engine/item-keys-mark';
import { Fault, invalid } from '#fault/fault';
import type { Turn } from '#runtime/turn';
import { ANSWER_AGE_MS, type AnswerRow, type InstanceStore } from '#storage/instance-store';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineCommand,
  plainAnswer,
} from '#wire/engine-messages';

/** The answer to a key made this recently is not looked up: its call's id is remembered for 20 s. */
const FRESH_KEY_AGE_MS = 10_000;

/** How far a caller's clock may stand ahead for its key to count as fresh (architecture 3.5). */
const FRESH_KEY_AHEAD_MS = 5_000;

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * The stored answer for a keyed call, if there is one: from memory at once, from the store with one
 * read, or without a read when the key is too young to be there and its call was not seen before.
 * Source: decision 22.
 */
export function findAnswer(
  call: EngineCall,
  rowKey: string,
  state: InstanceState,
  { wallMs, earlierVersion }: Pick<Turn<unknown>, 'wallMs' | 'earlierVersion'>,
  store: InstanceStore,
): AnswerRow | undefined | Promise<AnswerRow | undefined> {
  // Its answers went with the instance, though the store may still hold them.
  if (!isLive(state)) return undefined;
  const inMemory = state.unstored?.answerTo(rowKey);
  if (inMemory !== undefined) return isExpired(inMemory, wallMs) ? undefined : inMemory;
  const isNewCall = earlierVersion === undefined && isSurelyNew(call, wallMs);
  if (isNewCall && !hasRecentItemKeys(state, wallMs)) return undefined;
  return store.findAnswer(call.instanceId, rowKey, wallMs - ANSWER_AGE_MS);
}

/**
 * The stored answer given again, or undefined if the key was an item's of a batch, whose row has none.
 * Throws `invalid_request` when the call is not the same one.
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

/** Whether a single call has the observation of a batch's item that left the row. */
function isSameObservation({ fingerprint }: AnswerRow, command: EngineCommand): boolean {
  if (command.kind !== 'process' || command.isBatch) return false;
  const [observation] = command.observations;
  return observation !== undefined && fingerprintOfObservation(observation) === fingerprint;
}

/** The refusal of a call that only a stored answer could have satisfied. */
export function nothingToReplay(): Fault {
  return new Fault('quota_exceeded', 'the monthly quota is used up');
}

/** Whether a call whose id was not seen was not seen under another id either, and is no old one. */
function isSurelyNew({ idempotency }: EngineCall, nowMs: number): boolean {
  return idempotency?.isNameUnsure !== true && isFresh(idempotency?.key ?? '', nowMs);
}

function isFresh(key: string, nowMs: number): boolean {
  if (!UUID_V7.test(key)) return false;
  const madeAtMs = Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16);
  return madeAtMs > nowMs - FRESH_KEY_AGE_MS && madeAtMs < nowMs + FRESH_KEY_AHEAD_MS;
}
