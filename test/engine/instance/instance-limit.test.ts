import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { memoryListingStore } from '#storage/memory/instances';
import { ACCOUNT_ID, CREATE, instancesUnderTest } from '#test/engine/instance/instance-fixture';
import { refusalOf } from '#test/support/settled';

const MAX = 3;
const LIMITED = { ...CREATE, instancesMax: MAX };
const idOf = (n: number) => `inst_${String(n).padStart(16, '0')}`;
const at = (n: number) => ({ instanceId: idOf(n) });
const keyed = (n: number) => {
  return { ...at(n), callId: 7_000 + n, idempotency: { key: `k${n}`, fingerprint: 'f' } };
};

/** An account with `instances` instances. `isLimited` returns whether a create is refused. */
async function accountWith(instances: number, listings = memoryListingStore()) {
  const scene = instancesUnderTest({ listings });
  for (let n = 1; n <= instances; n += 1) await scene.ask(LIMITED, at(n));
  const isLimited = async (n: number) => {
    const fault = await scene.refusal(LIMITED, at(n));
    return fault.code === 'forbidden' && fault.reason === 'instance_limit';
  };
  return { ...scene, isLimited };
}

const full = suite('an account at the instance limit of its plan');

full('is refused a further instance, and the refusal leaves no data', async () => {
  const { isLimited, isInMemory, listings } = await accountWith(MAX);
  assert.ok(await isLimited(MAX + 1));
  assert.not(isInMemory(idOf(MAX + 1)));
  assert.is((await listings.load(ACCOUNT_ID)).length, MAX);
});

full('gets the first answer again for a repeated create, with and without a key', async () => {
  const { ask, isLimited } = await accountWith(MAX - 2);
  const first = await ask(LIMITED, keyed(8));
  const other = await ask(LIMITED, { ...at(9), callId: 99 });
  assert.ok(await isLimited(10));
  assert.equal(await ask(LIMITED, keyed(8)), { ...first, isReplayed: true });
  assert.equal(await ask(LIMITED, { ...at(9), callId: 99 }), other);
});

full('can create a further instance after a deletion', async () => {
  const { ask, isLimited } = await accountWith(MAX);
  await ask({ kind: 'remove' }, at(2));
  await ask(LIMITED, at(MAX + 1));
  assert.ok(await isLimited(MAX + 2));
});

full('keeps its count if a deletion is reported twice', async () => {
  const { ask, refusal, isLimited } = await accountWith(MAX);
  await ask({ kind: 'remove' }, at(2));
  await refusal({ kind: 'remove' }, at(2));
  await ask(LIMITED, at(MAX + 1));
  assert.ok(await isLimited(MAX + 2));
});

full('has its instances counted from the store after its directory was evicted', async () => {
  const { evict, isLimited } = await accountWith(MAX);
  await evict();
  assert.ok(await isLimited(MAX + 1));
});

const beside = suite('concurrent creates');

beside('succeed only until the limit is reached', async () => {
  const { ask, listings } = await accountWith(MAX - 1);
  const creates = Array.from({ length: 20 }, (_, n) => ask(LIMITED, at(100 + n)));
  const made = (await Promise.allSettled(creates)).filter(({ status }) => status === 'fulfilled');
  assert.is(made.length, 1);
  assert.is((await listings.load(ACCOUNT_ID)).length, MAX);
});

beside('count towards the limit while their rows are being stored', async () => {
  const listings = memoryListingStore();
  const { put } = listings;
  const gate = Promise.withResolvers<void>();
  const { ask, isLimited } = await accountWith(MAX - 1, listings);
  listings.put = async (...row) => {
    await gate.promise;
    await put(...row);
  };
  const first = ask(LIMITED, at(8));
  assert.ok(await isLimited(9));
  gate.resolve();
  await first;
  assert.ok(await isLimited(9));
});

const lost = suite('the reservation for a create');

lost('expires if the create never happens', async () => {
  const { ask, directories, isLimited, pass } = await accountWith(MAX - 1);
  const place = { kind: 'reserve', instanceId: idOf(8), instancesMax: MAX } as const;
  const deadlineAtMs = Number.POSITIVE_INFINITY;
  await directories.ask(ACCOUNT_ID, { ...place, callId: 0, deadlineAtMs });
  assert.ok(await isLimited(9));
  await pass(21_000);
  await ask(LIMITED, at(9));
});

lost('is refused if the listing cannot be reached', async () => {
  const { directories, ask, isInMemory } = await accountWith(0);
  await directories[Symbol.asyncDispose]();
  const refusal = await refusalOf(() => ask(LIMITED, at(1)));
  assert.instance(refusal, Fault);
  const { code, isOutcomeUnknown } = refusal as Fault;
  assert.equal(
    [code, isOutcomeUnknown, isInMemory(idOf(1))],
    ['service_unavailable', false, false],
  );
});

for (const group of [full, beside, lost]) group.run();
