import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account } from '#accounts/account';
import type { ClusterPorts } from '#ctl/command';
import { Fault } from '#errors/fault';
import { unnamedCall } from '#grpc/engine-messages';
import { type Clock, systemClock } from '#stdlib/clock';
import type { AuditStore } from '#storage/ports/audit';
import { FEED_CHUNK_ROWS } from '#storage/ports/feeds';
import { clusterInMemory } from '#test/ctl/cluster-fixture';
import { type Cluster, serving } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import { ACCOUNT_ID, CREATE, observed } from '#test/engine/instance/instance-fixture';
import { feedCheckpoint } from '#test/storage/contracts/feed-records';
import { meterAt } from '#test/storage/contracts/meter-records';
import { addKey } from '#test/storage/contracts/stored-keys';
import { faultIn } from '#test/support/settled';

const ACCOUNT: Account = {
  id: ACCOUNT_ID,
  name: 'Ada & Co',
  plan: 'free',
  status: 'active',
  limits: { requestsPerMinute: 10, cyclesPerMonth: 10_000, instances: 1_000 },
  createdAtMs: 1,
};

const IDS = Array.from({ length: 70 }, (_, index) => `inst_${String(index).padStart(16, '0')}`);

/** Clock speed-up: two minutes pass in half a second. */
const HASTE = 240;
const HASTY: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * HASTE,
  after: (delayMs, task) => systemClock.after(delayMs / HASTE, task),
};

const deletion = suite('ctl accounts delete');

/** A cluster with one account, which has a key, a meter and instances. */
async function withAccount(): Promise<Cluster> {
  const cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  const { accounts, meters, feeds, billing } = cluster.stores;
  await accounts.create(ACCOUNT);
  const key = { id: 'key_1', digest: 'd', scope: 'full', createdAtMs: 2 } as const;
  await addKey(accounts, ACCOUNT_ID, key);
  await meters.checkpoint([{ accountId: ACCOUNT_ID, head: meterAt(3) }]);
  await feeds.checkpoint([feedCheckpoint(ACCOUNT_ID, 3, FEED_CHUNK_ROWS + 1)]);
  const use = { digest: 'd', minute: 29_000_000, address: '192.0.2.1', client: 'curl' };
  await cluster.stores.keyUses.note(ACCOUNT_ID, use);
  await billing.put(ACCOUNT_ID, 0, {
    customers: [{ id: 'cus_1', atMs: 1 }],
    subscriptions: [],
    returns: [],
  });
  for (const id of IDS) await cluster.ask(id, CREATE);
  await cluster.ask(IDS[0] ?? '', observed({ mode: 2, signal: 0.7 }));
  return cluster;
}

function deleting({ ports }: Cluster, changed: Partial<ClusterPorts> = {}) {
  const cluster = { ...ports, clock: HASTY, ...changed };
  return ctl(['accounts', 'delete', ACCOUNT_ID, '--yes'], { cluster });
}

async function assertDeleted(cluster: Cluster, ids = IDS): Promise<void> {
  const { accounts, meters, feeds, billing, listings } = cluster.stores;
  assert.is(await accounts.find(ACCOUNT_ID), undefined);
  assert.is(await meters.readHead(ACCOUNT_ID), undefined);
  assert.is(await feeds.readHead(ACCOUNT_ID), undefined);
  assert.equal(await feeds.readChunks(ACCOUNT_ID, 0, 9), []);
  assert.equal(await cluster.stores.audit.months(ACCOUNT_ID), []);
  assert.equal(await cluster.stores.keyUses.find(ACCOUNT_ID), []);
  assert.is(await billing.find(ACCOUNT_ID), undefined);
  assert.is(await billing.accountOf('cus_1'), undefined);
  assert.equal(await listings.load(ACCOUNT_ID), []);
  for (const id of ids) {
    const fault = await faultIn(cluster.ask(id, { kind: 'readInstance' }));
    assert.is(fault.code, 'not_found');
  }
}

deletion('deletes the account and all its instances, and prints the result', async () => {
  await using cluster = await withAccount();
  const { code, out, err } = await deleting(cluster);
  assert.equal([code, err], [0, '']);
  assert.match(out, /^all keys are revoked\n/);
  assert.match(out, new RegExp(`^Account ${ACCOUNT_ID} and 70 instances are deleted`, 'm'));
  await assertDeleted(cluster);
  assert.equal([...new Set(cluster.announced)], [ACCOUNT_ID]);
});

deletion('does not start if its audit line cannot be written', async () => {
  await using cluster = await withAccount();
  const seen: unknown[] = [];
  const down = async (...[, , lines]: Parameters<AuditStore['append']>) => {
    seen.push(...lines.map(({ text }) => JSON.parse(text).action));
    throw new Fault('service_unavailable', 'down');
  };
  const { code, err } = await deleting(cluster, {
    audit: { ...cluster.stores.audit, append: down },
  });
  assert.is(code, 1);
  assert.match(err, /audit trail cannot be written/);
  assert.equal(seen, ['account.delete']);
  const found = await cluster.stores.accounts.find(ACCOUNT_ID);
  assert.equal([found?.account.status, found?.keys[0]?.revokedAtMs], ['active', undefined]);
});

deletion('reports on a second run that the account is deleted', async () => {
  await using cluster = await withAccount();
  await deleting(cluster);
  const { code, out } = await deleting(cluster);
  assert.equal([code, out], [0, `Account ${ACCOUNT_ID} was already deleted.`]);
});

deletion('revokes the keys before it deletes the first instance', async () => {
  await using cluster = await withAccount();
  const openActing = async () => {
    const acting = await cluster.ports.openActing();
    const ask: typeof acting.engine.ask = (call) => {
      if (call.command.kind === 'webhook') return acting.engine.ask(call);
      throw new Fault('service_unavailable', 'stopped here');
    };
    return { ...acting, engine: { ask } };
  };
  const { code, err } = await deleting(cluster, { openActing });
  assert.is(code, 1);
  assert.match(err, /^ctl: 70 instances could not be deleted \(stopped here\): run /);
  const found = await cluster.stores.accounts.find(ACCOUNT_ID);
  assert.is(found?.account.status, 'deleting');
  assert.ok(found?.keys[0]?.revokedAtMs);
  assert.is((await cluster.stores.listings.load(ACCOUNT_ID)).length, 70);
});

deletion('removes the webhook endpoints before the first instance', async () => {
  await using cluster = await withAccount();
  const settings = { url: 'https://hooks.example/', types: 1, rowsMax: 1, sealedSecret: 's' };
  const kinds: string[] = [];
  const openActing = async () => {
    const acting = await cluster.ports.openActing();
    const id = { endpointId: 'whk_1', positions: [] };
    const create = { kind: 'webhook', action: 'create', ...id, settings } as const;
    const deadlineAtMs = Date.now() + 10_000;
    const call = { accountId: ACCOUNT_ID, instanceId: '', deadlineAtMs, command: create };
    await acting.engine.ask(unnamedCall(call));
    const ask: typeof acting.engine.ask = (asked) => {
      const { command } = asked;
      kinds.push(command.kind === 'webhook' ? command.action : command.kind);
      return acting.engine.ask(asked);
    };
    return { ...acting, engine: { ask } };
  };
  assert.is((await deleting(cluster, { openActing })).code, 0);
  assert.equal(kinds.slice(0, 3), ['list', 'remove', 'remove']);
  // The endpoints are listed again after the wait for calls in progress.
  assert.is(kinds.length, 3 + IDS.length);
  const { feeds } = cluster.stores;
  assert.equal(await feeds.withEndpoints(feeds.bucketOf(ACCOUNT_ID)), []);
});

deletion('continues in a second run after an interruption', async () => {
  await using cluster = await withAccount();
  let asked = 0;
  const openActing = async () => {
    const acting = await cluster.ports.openActing();
    const ask: typeof acting.engine.ask = (call) => {
      if (call.command.kind === 'remove') asked += 1;
      if (asked > 30) throw new Error('killed');
      return acting.engine.ask(call);
    };
    return { ...acting, engine: { ask } };
  };
  assert.is((await deleting(cluster, { openActing })).code, 1);
  assert.is((await cluster.stores.listings.load(ACCOUNT_ID)).length, 40);
  assert.match((await deleting(cluster)).out, /and 40 instances are deleted/);
  await assertDeleted(cluster);
});

deletion('deletes instances that calls in progress create meanwhile', async () => {
  await using cluster = await withAccount();
  const late = 'inst_00000000000000ff';
  let waits = 0;
  const clock: Clock = {
    ...HASTY,
    after(delayMs, task) {
      waits += 1;
      const create = async () => void (await cluster.ask(late, CREATE));
      if (waits === 1) create().then(task, assert.unreachable);
      else HASTY.after(delayMs, task);
      return { [Symbol.dispose]: () => undefined };
    },
  };
  assert.match((await deleting(cluster, { clock })).out, /and 71 instances are deleted/);
  await assertDeleted(cluster, [late]);
});

deletion('waits two minutes for calls in progress', async () => {
  await using cluster = await withAccount();
  const startedMs = HASTY.monotonicMs();
  assert.is((await deleting(cluster)).code, 0);
  const tookMs = HASTY.monotonicMs() - startedMs;
  // Timers are exact to a millisecond, which is 240 ms by this clock.
  assert.ok(tookMs > 119_000, `${tookMs} ms`);
});

const asking = suite('the confirmation of ctl accounts delete');

asking('requires the account id, and another answer deletes nothing', async () => {
  await using cluster = await withAccount();
  const target = { cluster: { ...cluster.ports, clock: HASTY }, typed: 'Acc0unt00002' };
  const { code, err } = await ctl(['accounts', 'delete', ACCOUNT_ID], target);
  assert.equal([code, err], [1, 'ctl: the id does not match: nothing was deleted']);
  assert.is((await cluster.stores.accounts.find(ACCOUNT_ID))?.account.status, 'active');
  const again = await ctl(['accounts', 'delete', ACCOUNT_ID], { ...target, typed: ACCOUNT_ID });
  assert.is(again.code, 0, again.err);
  await assertDeleted(cluster);
});

asking('fails without a terminal, and then nothing is deleted', async () => {
  await using cluster = await withAccount();
  const { code, err } = await ctl(['accounts', 'delete', ACCOUNT_ID], { cluster: cluster.ports });
  assert.is(code, 1);
  assert.match(err, /no terminal for the confirmation: add --yes/);
  assert.is((await cluster.stores.accounts.find(ACCOUNT_ID))?.account.status, 'active');
});

deletion('refuses an unknown account and a malformed account id', async () => {
  await using cluster = await clusterInMemory(['a']);
  const unknown = await ctl(['accounts', 'delete', ACCOUNT_ID, '--yes'], {
    cluster: cluster.ports,
  });
  assert.equal([unknown.code, unknown.err], [4, 'ctl: there is no such account']);
  const wrong = await ctl(['accounts', 'delete', 'a b', '--yes'], { cluster: cluster.ports });
  assert.equal([wrong.code, wrong.err], [2, 'ctl: "a b" is not the id of an account']);
});

deletion.run();
asking.run();
