import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import type { InstanceStore } from '#storage/ports/instances';
import type { Cluster } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import {
  ACCOUNT,
  exportOf,
  folderOfTest,
  IDS,
  importOf,
  KEYS,
  soon,
  source,
  target,
} from '#test/ctl/export/export-fixture';
import { ACCOUNT_ID, START_MS } from '#test/engine/instance/instance-fixture';
import { addKey } from '#test/storage/contracts/stored-keys';
import { ManualClock } from '#test/support/manual-clock';
import { faultIn } from '#test/support/settled';

let from: Cluster;
let written = '';

const resumed = suite('an interrupted import');

resumed.before(async () => {
  from = await source();
  written = await exportOf(from);
});
resumed.after(async () => {
  await from?.[Symbol.asyncDispose]();
});

/** The same cluster, in which writes of instances fail from write number `last` on. */
function endingAt(cluster: Cluster, last: number): Cluster {
  let writes = 0;
  const { instances } = cluster.stores;
  const ending: InstanceStore = {
    ...instances,
    async checkpoint(checkpoints) {
      writes += 1;
      if (writes >= last) throw new Fault('service_unavailable', 'ended here');
      await instances.checkpoint(checkpoints);
    },
  };
  return { stores: {}, ports: { ...cluster.ports, instances: ending } } as unknown as Cluster;
}

/** All stored data of the account. */
async function storedIn({ stores }: Cluster) {
  const { accounts, instances, listings } = stores;
  const each = Object.values(IDS).map(async (id) => [
    await instances.readHead(id),
    await instances.readHistory(id, 1_000, 1_000),
    await instances.readDrift(id, 1_000, 1_000),
  ]);
  const rows = await Array.fromAsync(listings.pages(ACCOUNT_ID));
  return [await accounts.find(ACCOUNT_ID), await Promise.all(each), rows];
}

for (const last of [1, 2, 3, 4, 5, 6, 7, 8]) {
  resumed(
    `that ended at write ${last} leaves an unusable account, which a second run completes`,
    async () => {
      await using cut = await target();
      const first = await importOf(endingAt(cut, last), written);
      assert.equal([first.code, first.err], [1, 'ctl: ended here']);
      const { accounts } = cut.stores;
      const found = await accounts.find(ACCOUNT_ID);
      assert.equal(found, { account: { ...ACCOUNT, status: 'importing' }, keys: [] });
      assert.is((await faultIn(accounts.setStatus(ACCOUNT_ID, 'active'))).code, 'conflict');
      const second = await importOf(cut, written);
      assert.is(second.code, 0, second.err);
      await using whole = await target();
      assert.is((await importOf(whole, written)).code, 0);
      assert.equal(await storedIn(cut), await storedIn(whole));
    },
  );
}

resumed('prints in its second run how many instances the first run imported', async () => {
  await using cut = await target();
  await importOf(endingAt(cut, 3), written);
  const { out } = await importOf(cut, written);
  assert.match(out, /^An earlier run had already imported \d instances?\.$/m);
});

resumed('that ended between two keys adds the remaining keys in a second run', async () => {
  await using cut = await target();
  const { accounts } = cut.stores;
  await accounts.create({ ...ACCOUNT, status: 'importing' });
  for (const key of KEYS.slice(0, 1)) await addKey(accounts, ACCOUNT_ID, key);
  assert.is((await importOf(cut, written)).code, 0);
  assert.equal(await accounts.find(ACCOUNT_ID), { account: ACCOUNT, keys: KEYS });
});

resumed('takes the account and its keys from the file of the second run', async () => {
  await using cut = await target();
  const { accounts } = cut.stores;
  const limits = { ...ACCOUNT.limits, instances: 99 };
  await accounts.create({ ...ACCOUNT, limits, plan: 'pro', status: 'importing' });
  for (const { revokedAtMs: _, ...usable } of KEYS) await addKey(accounts, ACCOUNT_ID, usable);
  assert.is((await importOf(cut, written)).code, 0);
  assert.equal(await accounts.find(ACCOUNT_ID), { account: ACCOUNT, keys: KEYS });
});

resumed('does not continue with another file', async () => {
  await using cut = await target();
  await cut.stores.accounts.create({ ...ACCOUNT, name: 'another', status: 'importing' });
  const { code, err } = await importOf(cut, written);
  const text =
    'is being imported from another file: import that file, or run "ctl accounts delete"';
  assert.equal([code, err], [1, `ctl: account ${ACCOUNT_ID} ${text}`]);
});

resumed('writes nothing after the deletion of its account', async () => {
  await using cut = await target();
  const clock = new ManualClock(START_MS);
  const { instances } = cut.stores;
  let writes = 0;
  const slow: InstanceStore = {
    ...instances,
    async checkpoint(checkpoints) {
      writes += 1;
      await instances.checkpoint(checkpoints);
      if (writes > 1) return;
      await cut.stores.accounts.beginDeletion(ACCOUNT_ID, START_MS);
      clock.advance(30_000);
    },
  };
  await using folder = await folderOfTest();
  const path = join(folder.path, 'export.ndjson');
  await writeFile(path, written);
  const cluster = { ...cut.ports, clock, instances: slow };
  const { code, err } = await ctl(['import', path], { cluster });
  assert.is(code, 1);
  assert.match(err, /import of account \w+ was ended .*: the account is deleting$/m);
  assert.ok(writes < 6, `${writes} writes`);
});

resumed('that ended at any write can be deleted without remaining rows', async () => {
  for (const last of [1, 2, 3, 4, 5, 6, 7, 8]) {
    await using cut = await target();
    await importOf(endingAt(cut, last), written);
    const clock = { ...cut.ports.clock, after: (_: number, task: () => void) => soon(task) };
    const argv = ['accounts', 'delete', ACCOUNT_ID, '--yes'];
    const { code, err } = await ctl(argv, { cluster: { ...cut.ports, clock } });
    assert.is(code, 0, err);
    await cut[Symbol.asyncDispose]();
    for (const id of Object.values(IDS)) {
      const head = await cut.stores.instances.readHead(id);
      assert.ok(head === undefined || head.deletedAtMs !== undefined, id);
      assert.equal(await cut.stores.instances.readHistory(id, 1_000, 1_000), []);
      assert.equal(await cut.stores.instances.readDrift(id, 1_000, 1_000), []);
    }
  }
});

resumed.run();
