import type { ListingPage } from '#engine/account-listing';
import type { Directory } from '#engine/directory';
import type { DirectoryAnswer, DirectoryCall } from '#engine/directory-kind';
import { isoTime, reportOf, rounded } from '#engine/instance-answers';
import type { State } from '#identity/state';
import type { ListingRow, ListingStore } from '#storage/listing-store';
import type { EngineAnswer } from '#wire/engine-messages';
import { CALL_TIMEOUT_MS_MAX } from '#wire/wire-bounds';

/** Asks an account's directory, wherever it lives. */
export type AskDirectory = (
  accountId: string,
  call: DirectoryCall,
) => DirectoryAnswer | Promise<DirectoryAnswer>;

/** The directory as instances see it: the row is stored first, then the account's actor is told. */
export function storedDirectory(
  store: ListingStore,
  ask: AskDirectory,
  nowMs: () => number,
): Directory {
  const common = () => ({ callId: 0, deadlineAtMs: nowMs() + CALL_TIMEOUT_MS_MAX });
  return {
    async put(accountId, row) {
      await store.put(accountId, row);
      await ask(accountId, { kind: 'put', row, ...common() });
    },
    async remove(accountId, instanceId, version) {
      await store.remove(accountId, instanceId, version);
      await ask(accountId, { kind: 'remove', instanceId, version, ...common() });
    },
  };
}

/** The model of an instance wherever it is, active or not, without activating it (architecture 3.6). */
export type ModelOf = (instanceId: string) => Promise<State | undefined>;

/** Answer of `GET /instances`: a page of the listing with each item's cycle and energy. */
export async function listingAnswer(
  { total, rows }: DirectoryAnswer,
  { limit, offset }: ListingPage,
  modelOf: ModelOf,
): Promise<EngineAnswer> {
  const models = await Promise.all(rows.map(({ instanceId }) => modelOf(instanceId)));
  const data = rows.map((row, index) => itemOf(row, models[index]));
  const pagination = { limit, offset, total, has_more: offset + rows.length < total };
  const body = JSON.stringify({ data, pagination });
  return { body, etag: '', cycles: 0, throttledRetryAfterS: 0, isReplayed: false };
}

/** Source: spec 2.4. An instance that was deleted a moment ago shows the values of a fresh one. */
function itemOf({ instanceId, name, description, createdAtMs }: ListingRow, model?: State) {
  // The marker of a deleted instance has a vector without places.
  const isGone = model === undefined || model.length === 0;
  const { cycle, energy } = isGone ? { cycle: 0, energy: 0 } : reportOf(model).snapshot;
  return {
    id: instanceId,
    name,
    description,
    created_at: isoTime(createdAtMs),
    cycle_count: cycle,
    energy_level: rounded(energy),
  };
}
