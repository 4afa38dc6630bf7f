import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Account } from '#accounts/account';
import { chained, chainStart } from '#audit/chain';
import type { ClusterPorts } from '#ctl/command';
import { Fault } from '#errors/fault';
import { trimmedOf } from '#storage/ports/instances';
import { clusterInMemory } from '#test/ctl/cluster-fixture';
import { type Cluster, ctlOn, serving } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import { engineOn } from '#test/ctl/export/export-fixture';
import { ANCHORED, callOf, observed } from '#test/engine/instance/instance-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { soon } from '#test/support/soon';

const DAY_MS = 86_400_000;

/** Maximum delay until a deletion is stored, in milliseconds, with a margin for a busy machine. */
const STORED_MS = 20_000 + 10_000;

/** Accounts with different retentions. Each account has the instance with the same number. */
const ACCOUNTS: Readonly<Record<string, Partial<Account>>> = {
  Acc0unt0free: { plan: 'free' },
  Acc0unt00pro: { plan: 'pro' },
  Acc0untown10: { plan: 'free', retention: 10 },
  Acc0untnever: { plan: 'free', retention: 'none' },
  Acc0untended: { plan: 'free', status: 'suspended' },
};

const IDS = Object.keys(ACCOUNTS);

const PLANS = { free: 30, pro: 90 };

/** Observation ages of each instance, in days, with three observations per age. */
const DAYS_AGO = [100, 60, 29, 20, 5, 0.5];

/** For each account: the number of its 18 observations that are younger than its retention. */
const LEFT = [12, 15, 6, 18, 12];

function instanceOf(accountId: string): string {
  return `inst_${IDS.indexOf(accountId).toString().padStart(16, '0')}`;
}

/** Stores with all accounts, without an engine. */
async function stored(): Promise<Cluster> {
  const cluster = await clusterInMemory([]);
  const clock = new ManualClock(Date.now() - 101 * DAY_MS);
  await using engine = engineOn(cluster, clock);
  let callId = 0;
  for (const [id, fields] of Object.entries(ACCOUNTS)) {
    const limits = { requestsPerMinute: 1, cyclesPerMonth: 1, instances: 9 };
    const plain = { id, name: id, plan: 'free', status: 'active', limits, createdAtMs: 1 } as const;
    await cluster.stores.accounts.create({ ...plain, ...fields });
    const instanceId = instanceOf(id);
    const ask = (command: Parameters<typeof callOf>[0]) => {
      callId += 1;
      return engine.ask(callOf(command, { accountId: id, instanceId, callId }));
    };
    await ask(ANCHORED);
    for (const days of DAYS_AGO) {
      const timestampMs = Date.now() - days * DAY_MS;
      const three = [0, 2_000, 4_000].map((ms) => ({
        timestampMs: timestampMs + ms,
        mode: 3,
        signal: 1,
      }));
      await ask(observed(...three));
    }
  }
  return cluster;
}

/** Stores with all accounts, and two engines. */
async function served(): Promise<Cluster> {
  const cluster = await stored();
  await Promise.all([cluster.joinEngine('a'), cluster.joinEngine('b')]);
  await serving(cluster, { a: 4, b: 4 });
  return cluster;
}

async function apply(cluster: Cluster, replaced: Partial<ClusterPorts> = {}) {
  const ports = { ...cluster.ports, retentionOfPlans: PLANS, ...replaced };
  const { code, out, err } = await ctl(['retention', 'apply', '--json'], { cluster: ports });
  return { code, err, data: out === '' ? undefined : JSON.parse(out) };
}

/** Observation count that each instance shows. */
async function shown(cluster: Cluster): Promise<number[]> {
  const page = { limit: 100, offset: 0, isEveryGeneration: true } as const;
  const counts = [];
  for (const accountId of IDS) {
    const asked = { accountId, instanceId: instanceOf(accountId) };
    const answer = await cluster.ask(asked.instanceId, { kind: 'readHistory', ...page }, asked);
    const { data, pagination } = JSON.parse(Buffer.from(answer.body).toString());
    assert.is(data.length, pagination.total);
    counts.push(pagination.total);
  }
  return counts;
}

const applied = suite('ctl retention apply');

applied('deletes rows past the retention of the account or plan once, within 20 s', async () => {
  await using cluster = await served();
  const first = await apply(cluster);
  assert.is(first.code, 0, first.err);
  const { observations, drift_events, ...rest } = first.data;
  const trimmed = {
    accounts: 4,
    looked_at: 4,
    trimmed: 4,
    failed: 0,
    failures: [],
    audit_months: 0,
  };
  assert.equal([rest, observations], [trimmed, 4 * 18 - (12 + 15 + 6 + 12)]);
  assert.ok(drift_events > 0);
  assert.equal(await shown(cluster), LEFT);
  const { instances } = cluster.stores;
  const below = async (accountId: string) => {
    const id = instanceOf(accountId);
    const { history, drift } = trimmedOf((await instances.readHead(id)) ?? {});
    const rows = await instances.readHistory(id, history, history);
    return { history, left: rows.length + (await instances.readDrift(id, drift, drift)).length };
  };
  for (const [index, accountId] of IDS.entries()) {
    const history = 18 - (LEFT[index] ?? 0);
    const isStored = async () => (await below(accountId)).history === history;
    await soon(`the stored rows of ${accountId}`, isStored, { withinMs: STORED_MS });
    assert.equal(await below(accountId), { history, left: 0 });
    const said = await ctlOn(cluster).text('verify', instanceOf(accountId));
    assert.match(said, /gives the head, bit for bit/);
  }
  const again = await apply(cluster);
  const nothing = { trimmed: 0, observations: 0, drift_events: 0 };
  assert.equal(again.data, { ...trimmed, ...nothing });
  assert.equal(cluster.bugs, []);
});

applied('needs no engine if every account keeps its history for ever', async () => {
  await using cluster = await clusterInMemory([]);
  const openActing = () => assert.unreachable('no engine is needed');
  const ports = { ...cluster.ports, openActing: openActing as never };
  const { code, out } = await ctl(['retention', 'apply'], { cluster: ports });
  assert.equal([code, out], [0, 'Every account keeps its history for ever: nothing to do.']);
});

applied('deletes and reports audit months past the retention of the plan', async () => {
  await using cluster = await clusterInMemory([]);
  const { accounts, audit } = cluster.stores;
  const limits = { requestsPerMinute: 1, cyclesPerMonth: 1, instances: 9 };
  const plain = { name: 'a', status: 'active', limits, createdAtMs: 1 } as const;
  const clock = new ManualClock(Date.now());
  const months = [130, 500, 900].map((days) => monthAt(clock.wallMs() - days * DAY_MS));
  for (const plan of ['free', 'indie', 'pro', 'enterprise'] as const) {
    const id = `Acc0unt${plan.padStart(5, '0').slice(0, 5)}`;
    await accounts.create({ ...plain, id, plan });
    for (const month of months) {
      const start = chainStart(id, month);
      await audit.append(id, start, chained(start, ['{}']));
    }
  }
  const { code, data } = await apply(cluster, { retentionOfPlans: {} });
  assert.equal([code, data.audit_months], [0, 3 + 2 + 1]);
  const present = monthAt(clock.wallMs());
  assert.equal(await audit.months('Acc0unt0free'), [present]);
  assert.equal(await audit.months('Acc0untindie'), [months[0], present]);
  assert.equal(await audit.months('Acc0untenter'), months.toReversed());
  const [line] = await audit.read('Acc0unt0free', present, 1, 1);
  assert.is(JSON.parse(line?.text ?? '').action, 'audit.erase');
  assert.is((await apply(cluster, { retentionOfPlans: {} })).data.audit_months, 0);
});

function monthAt(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}

applied('prints its result in words', async () => {
  await using cluster = await served();
  const ports = { ...cluster.ports, retentionOfPlans: PLANS };
  const { code, out } = await ctl(['retention', 'apply'], { cluster: ports });
  assert.is(code, 0);
  assert.match(
    out,
    /^4 accounts, 4 instances checked; 27 observations and \d+ drift events deleted from 4 instances\.$/m,
  );
  assert.match(out, /^The rows disappear from the tables within 20 s\.$/m);
});

applied('continues after a failed instance, names the instance and exits with 1', async () => {
  await using cluster = await served();
  const { instances } = cluster.stores;
  const damaged = instanceOf('Acc0unt00pro');
  const refusing = instanceOf('Acc0untown10');
  const acting = await cluster.ports.openActing();
  const result = await apply(cluster, {
    instances: {
      ...instances,
      async readHead(id) {
        if (id === damaged) throw new Error('the head is damaged');
        return await instances.readHead(id);
      },
    },
    openActing: async () => ({
      ...acting,
      engine: {
        async ask(call) {
          if (call.instanceId === refusing) throw new Fault('service_unavailable', 'not now');
          return await acting.engine.ask(call);
        },
      },
    }),
  });
  assert.is(result.code, 1);
  assert.equal([result.data.trimmed, result.data.failed], [2, 2]);
  const expected = [`${damaged}: the head is damaged`, `${refusing}: not now`];
  assert.equal(result.data.failures.toSorted(), expected);
  assert.equal(await shown(cluster), [12, 18, 18, 18, 12]);
  const again = await apply(cluster);
  assert.equal([again.code, again.data.trimmed], [0, 2]);
  assert.equal(await shown(cluster), LEFT);
});

applied('skips accounts that are being deleted, and instances that were deleted', async () => {
  await using cluster = await served();
  const { accounts } = cluster.stores;
  await accounts.beginDeletion('Acc0unt0free', 1);
  const own = instanceOf('Acc0untown10');
  await cluster.ask(own, { kind: 'remove' }, { accountId: 'Acc0untown10' });
  const { code, data } = await apply(cluster);
  assert.equal([code, data.accounts, data.trimmed], [0, 3, 2]);
});

applied('is refused if the clock of this machine differs from the servers’ clocks', async () => {
  await using cluster = await served();
  const far = { read: async () => [Date.now(), Date.now() - DAY_MS, Date.now() - DAY_MS] };
  const { code, err } = await apply(cluster, { serverClocks: far });
  assert.is(code, 1);
  assert.match(err, /^ctl: the clock of this machine .*: nothing was deleted; correct the clock$/);
  assert.equal(await shown(cluster), [18, 18, 18, 18, 18]);
  const near = { read: async () => [Date.now(), Date.now() + 900, Date.now() - DAY_MS] };
  assert.is((await apply(cluster, { serverClocks: near })).code, 0);
});

applied.run();
