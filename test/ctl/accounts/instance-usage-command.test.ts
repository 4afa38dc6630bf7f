import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { monthBeginOf, monthEndOf, monthNameOf } from '#accounts/quota-windows';
import { clusterInMemory } from '#test/ctl/cluster-fixture';
import { type Cluster, ctlOn, serving } from '#test/ctl/ctl-on-cluster';
import { CREATE, observed } from '#test/engine/instance/instance-fixture';

const [ACCOUNT, OTHER] = ['account00001', 'account00002'] as const;

const MONTH = monthBeginOf(monthEndOf(Date.now()));

/** Creates an instance with one observation at each time. */
async function instance(cluster: Cluster, accountId: string, id: string, timesMs: number[]) {
  const asked = { accountId };
  await cluster.ask(id, { ...CREATE, name: `Agent "${id.at(-1)}"` }, asked);
  for (const timestampMs of timesMs) {
    await cluster.ask(id, observed({ timestampMs, mode: 3, signal: 1 }), asked);
  }
}

/** Times 2 s apart: `count` before the month, and `more` from its first millisecond on. */
const around = (count: number, more: number) =>
  Array.from({ length: count + more }, (_, index) => MONTH + 2_000 * (index - count));

const usage = suite('ctl usage instances');

usage('shows the instances with the most cycles of an account in the month', async () => {
  await using cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  const limits = { requestsPerMinute: 1, cyclesPerMonth: 1, instances: 9 };
  for (const id of [ACCOUNT, OTHER]) {
    const plain = { id, name: id, plan: 'free', status: 'active', limits, createdAtMs: 1 } as const;
    await cluster.stores.accounts.create(plain);
  }
  const ids = [1, 2, 3, 4].map((index) => `inst_000000000000000${index}`);
  const [many = '', few = '', none = '', theirs = ''] = ids;
  await instance(cluster, ACCOUNT, many, around(40, 2));
  await instance(cluster, ACCOUNT, few, around(3, 5));
  await instance(cluster, ACCOUNT, none, around(6, 0));
  await instance(cluster, OTHER, theirs, around(0, 9));
  const data = await ctlOn(cluster).data('usage', 'instances', ACCOUNT);
  assert.equal(data, {
    ...{ account_id: ACCOUNT, month: monthNameOf(MONTH) },
    instances: [
      { id: few, name: 'Agent "2"', cycles: 5 },
      { id: many, name: 'Agent "1"', cycles: 2 },
    ],
    ...{ instances_total: 3, instances_listed: 3, is_complete: true },
  });
  const text = await ctlOn(cluster).text('usage', 'instances', ACCOUNT);
  assert.match(text, /^inst_0000000000000002 {2}"Agent \\"2\\"" {2}5$/m);
  assert.not.match(text, /may be incomplete/);
  assert.match(await ctlOn(cluster).refusal('usage', 'instances', 'Nobody000001'), /no account/);
});

usage.run();
