import { callKeyOf, fingerprintOfObservation, isExpired } from '#engine/answer-keys';
import { etagOf } from '#engine/etag';
import type { AnswerKey } from '#engine/instance-event';
import type { InstanceState } from '#engine/instance-state';
import { type Fault, invalid } from '#fault/fault';
import { firstMisplaced } from '#identity/observation-order';
import { ANSWER_AGE_MS, type AnswerRow, type InstanceStore } from '#storage/instance-store';
import type { EngineCall, EngineCommand, ObservationInput } from '#wire/engine-messages';

/*
 * Idempotency keys of the items of a batch (decision 280). An applied item leaves an answer row under
 * the same name as a single call with its key, so that batches and single calls find each other's keys.
 * The row of an item has no body: a replay shows the present state.
 */

type Process = Extract<EngineCommand, { kind: 'process' }>;

/** Outcome of one item, as `results` of the answer says it. Source: interface 4.2. */
export type ItemStatus = 'applied' | 'replayed' | 'throttled';

/** Answer rows of a batch's keys, by row key. */
type KnownRows = ReadonlyMap<string, AnswerRow>;

/** The items of a batch, sorted into those that are applied and those that were applied before. */
export type SortedItems = {
  /** The items to apply, in input order. */
  readonly fresh: readonly ObservationInput[];
  /** Keys under which they are remembered, as many as `fresh`. */
  readonly keys: readonly (AnswerKey | undefined)[];
  /** One status per item of the batch, in input order. */
  readonly statuses: readonly ('applied' | 'replayed')[];
};

/**
 * The rows of a batch's keys: from memory, and all others with one read of the store. A young key is
 * looked up too, because the id of the call says nothing about its items.
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
 * Sorts the items of a batch. An item is replayed if its key is known, or if an earlier item of the same
 * batch has it. Throws `idempotency_key_reused` with the item's field for a key of another observation.
 * `earlierVersion`: the version at which this very call was committed before; its own items count as
 * applied then.
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
    // The whole batch would be stored under the name of one of its items.
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
 * Checks the times of the items that are applied (decision 8). The edge cannot: it does not know which
 * items are replayed. Throws `invalid_request` with the field of the first item that breaks the rule.
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

/** The statuses when the items that are not replays came too early. */
export function throttledOf({ statuses }: SortedItems): readonly ItemStatus[] {
  return statuses.map((status) => (status === 'applied' ? 'throttled' : status));
}

function reused(index: number): Fault {
  const field = `observations[${index}].idempotency_key`;
  return invalid('idempotency_key_reused', field, `${field}: was used for another observation`);
}
