import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AccountListing } from '#engine/directory/account-listing';
import { DirectoryKind } from '#engine/directory/kind';
import { directoryCall, NOTIFIED, remoteDirectory } from '#engine/directory/owners';
import { Fault } from '#errors/fault';
import type { EngineCall } from '#grpc/engine-messages';
import { memoryListingStore } from '#storage/memory/instances';
import type { ListingRow, ListingStore } from '#storage/ports/listings';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf } from '#test/support/settled';

const ROW: ListingRow = {
  instanceId: 'inst_1',
  version: 3,
  name: 'a',
  description: 'b',
  createdAtMs: 5,
};

const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

/** A directory whose owner executes commands like an engine. All calls are recorded in `calls`. */
function directoryUnderTest({ refusal }: { refusal?: Fault } = {}) {
  const clock = new ManualClock();
  const store = memoryListingStore();
  const kind = new DirectoryKind(store, clock);
  const listing = new AccountListing();
  const calls: EngineCall[] = [];
  const storedWhenNotified: number[] = [];
  const engine = {
    async ask(call: EngineCall) {
      calls.push(call);
      storedWhenNotified.push((await store.load(call.accountId)).length);
      if (refusal !== undefined) throw refusal;
      const { command } = call;
      assert.ok(command.kind === 'putListingRow' || command.kind === 'removeListingRow');
      await kind.receive(listing, directoryCall(call, command), { wallMs: clock.wallMs() });
      return NOTIFIED;
    },
  };
  const directory = remoteDirectory(store, engine, clock);
  return { clock, store, listing, calls, storedWhenNotified, directory };
}

const notifying = suite('when an instance notifies its account’s directory');

notifying('the row is stored first, then sent to the owner', async () => {
  const { clock, store, listing, calls, storedWhenNotified, directory } = directoryUnderTest();
  await directory.put('acct_1', ROW);
  assert.equal(await store.load('acct_1'), [ROW]);
  const page = { limit: 1, offset: 0, sort: 'name', order: 'asc' } as const;
  const { description: _, ...listed } = ROW;
  assert.equal(listing.page(page).rows, [listed]);
  assert.equal(storedWhenNotified, [1]);
  const [call] = calls;
  assert.equal([call?.accountId, call?.instanceId, call?.callId], ['acct_1', 'inst_1', 0]);
  assert.is(call?.deadlineAtMs, clock.wallMs() + 10_000);
});

notifying(
  'the notification belongs to the trace of the call that changed the instance',
  async () => {
    const { calls, directory } = directoryUnderTest();
    await directory.put('acct_1', ROW, TRACEPARENT);
    await directory.remove('acct_1', 'inst_1', 4, TRACEPARENT);
    await directory.put('acct_1', ROW);
    assert.equal(
      calls.map(({ traceparent }) => traceparent),
      [TRACEPARENT, TRACEPARENT, undefined],
    );
    const [call] = calls;
    assert.ok(call?.command.kind === 'putListingRow');
    assert.is(directoryCall(call, call.command).traceparent, TRACEPARENT);
  },
);

notifying('a removal is final in store and directory', async () => {
  const { store, listing, storedWhenNotified, directory } = directoryUnderTest();
  await directory.put('acct_1', ROW);
  await directory.remove('acct_1', 'inst_1', 4);
  await directory.put('acct_1', ROW);
  assert.equal(await store.load('acct_1'), []);
  assert.is(listing.total, 0);
  assert.equal(storedWhenNotified, [1, 0, 0]);
});

notifying('the notification fails if the owner does not confirm', async () => {
  const refusal = new Fault('service_unavailable', 'no', { reason: 'engine_unavailable' });
  const { directory } = directoryUnderTest({ refusal });
  assert.is(await refusalOf(() => directory.put('acct_1', ROW)), refusal);
  assert.is(await refusalOf(() => directory.remove('acct_1', 'inst_1', 4)), refusal);
});

notifying('the owner is not notified of a row that could not be stored', async () => {
  const refusal = new Fault('service_unavailable', 'the store is unreachable');
  const fail = () => Promise.reject(refusal);
  const store: ListingStore = { put: fail, remove: fail, listed: fail, find: fail, load: fail };
  const calls: EngineCall[] = [];
  const engine = {
    ask(call: EngineCall) {
      calls.push(call);
      return NOTIFIED;
    },
  };
  const directory = remoteDirectory(store, engine, new ManualClock());
  assert.is(await refusalOf(() => directory.put('acct_1', ROW)), refusal);
  assert.is(await refusalOf(() => directory.remove('acct_1', 'inst_1', 4)), refusal);
  assert.equal(calls, []);
});

notifying.run();
