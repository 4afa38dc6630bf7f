import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { CassandraSession } from '#storage/cassandra/session';
import { tracesOf } from '#test/storage/cassandra/keyspace-scan';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';
import { admin, type Caller, newCaller } from '#test/support/calls/caller';
import { createInstance } from '#test/support/calls/scene';
import { runMain } from '#test/support/process-run';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

const DAY_MS = 86_400_000;

/** Retention of the plan's history, in days. */
const DAYS = 30;

/** Idle seconds until instances are stored and evicted: the minimum setting. */
const IDLE_S = 30;

/**
 * Maximum seconds until no table has older rows, although an engine fails. Includes the takeover,
 * the trim (20 s) and the truncation of journals.
 */
const GONE_S = 155;

/** Number of instances with one observation each. */
const SMALL = 60;

const OLD = 'a-context-to-forget';
const YOUNG = 'a-context-to-keep';
const KEPT = 'an-old-context-to-keep';

let cluster: OwnCluster;
let session: CassandraSession;
let forgetting: Caller;
let keeping: Caller;
let long = '';
let quiet = '';
let kept = '';
const small: string[] = [];

const retention = suite("history beyond its account's retention");

retention.before(async () => {
  const variables = {
    SERVICE_ACTOR_IDLE_S: String(IDLE_S),
    SERVICE_RETENTION_DAYS: `enterprise=${DAYS}`,
  };
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b'], { limiters: ['l'], variables });
  session = await sessionIn(cassandra, cluster.keyspace);
  forgetting = await newCaller(cluster.service());
  keeping = await newCaller(cluster.service());
  [long, quiet, kept] = [
    await createInstance(forgetting),
    await createInstance(forgetting),
    await createInstance(keeping),
  ];
  await observe(forgetting, long, 60, OLD, 100);
  await observe(forgetting, long, 40, OLD, 25);
  await observe(forgetting, long, 5, YOUNG, 80);
  await observe(forgetting, quiet, 60, OLD, 5);
  await observe(keeping, kept, 60, KEPT, 90);
  for (let index = 0; index < SMALL; index += 1) {
    small.push(await createInstance(forgetting));
    await observe(forgetting, small.at(-1) ?? '', 31, OLD, 1);
  }
  await sleep((IDLE_S + 15) * 1_000);
});
retention.after(async () => {
  await session?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

/** Sends `count` observations of a past day, each with `text` in its context. */
async function observe(caller: Caller, id: string, daysAgo: number, text: string, count: number) {
  const startMs = Date.now() - daysAgo * DAY_MS;
  const observations = Array.from({ length: count }, (_, n) => ({
    mode_target: n % 4 === 0 ? 'EXPLORATION' : 'ASSERTION',
    signal_strength: 1,
    timestamp: new Date(startMs + n * 2_000).toISOString(),
    context: { text, n },
  }));
  const path = `/instances/${id}/process/batch`;
  const answer = await caller.send('POST', path, { json: { observations } });
  assert.is(answer.status, 200, answer.text);
}

async function ctl(...argv: string[]) {
  const run = runMain(['ctl', ...argv], cluster.variables);
  const code = await run.ended;
  return { code, out: run.stdout(), err: run.stderr() };
}

/** Sets the retention at the admin port, like `ctl accounts retention`. */
async function keeps({ accountId }: Caller, retention_days: number | 'none'): Promise<void> {
  const path = `/accounts/${accountId}/retention`;
  await admin(cluster.service(), 'PUT', path, { retention_days });
}

/** Observations shown to callers, newest first. */
async function shown(caller: Caller, id: string): Promise<string[]> {
  const answer = await caller.send('GET', `/instances/${id}/history?limit=1000`);
  assert.is(answer.status, 200, answer.text);
  const { data, pagination } = answer.body;
  assert.is(pagination.total, data.length);
  return data.map((row: { context: { text: string } }) => row.context.text);
}

/** Tables that still contain a text. */
async function tablesWith(text: string): Promise<string[]> {
  const traces = await tracesOf(session, cluster.keyspace, [text]);
  return [...new Set(traces.map(({ table }) => table))].sort();
}

retention(
  'is hidden immediately despite failures, and is removed from every table in time',
  async () => {
    assert.equal(await tablesWith(OLD), ['heads', 'history']);
    const before = await forgetting.send('GET', `/instances/${long}/drift?limit=1000`);
    await keeps(keeping, 'none');
    // An interrupted run keeps its progress, and the next run continues.
    const cut = runMain(['ctl', 'retention', 'apply'], cluster.variables);
    await sleep(1_500);
    cut.child.kill('SIGKILL');
    await cut.ended;
    const applied = await ctl('retention', 'apply');
    assert.is(applied.code, 0, applied.err);
    assert.match(applied.out, new RegExp(`^2 accounts, ${SMALL + 2} instances checked; `, 'm'));
    cluster.engines.get('a')?.child.kill('SIGKILL');
    const startMs = performance.now();
    assert.equal(await shown(forgetting, long), Array(80).fill(YOUNG));
    for (const id of [quiet, ...small]) assert.equal(await shown(forgetting, id), []);
    const after = await forgetting.send('GET', `/instances/${long}/drift?limit=1000`);
    const { total } = after.body.pagination;
    assert.ok(total > 0 && total < before.body.pagination.total);
    assert.equal(after.body.data, before.body.data.slice(0, total));
    let left = await tablesWith(OLD);
    while (left.length > 0) {
      assert.ok(performance.now() - startMs < GONE_S * 1_000, `rows remain in ${left}`);
      await sleep(1_000);
      left = await tablesWith(OLD);
    }
  },
);

retention(
  'excludes younger rows, and all rows of an account with unlimited retention',
  async () => {
    assert.equal(await tablesWith(YOUNG), ['heads', 'history']);
    assert.equal(await tablesWith(KEPT), ['heads', 'history']);
    assert.equal(await shown(keeping, kept), Array(90).fill(KEPT));
    assert.equal(await shown(forgetting, long), Array(80).fill(YOUNG));
  },
);

retention('leaves rows whose replay gives the head, and the instance continues', async () => {
  const verified = await ctl('verify', long);
  assert.is(verified.code, 0, verified.out + verified.err);
  assert.match(verified.out, /80 observations .* bit for bit; .* trimmed rows/);
  await observe(forgetting, quiet, 0.01, YOUNG, 1);
  const page = await forgetting.send('GET', `/instances/${quiet}/history`);
  assert.equal([page.body.pagination.total, page.body.data[0].cycle], [1, 6]);
});

retention(
  'is not trimmed again by a second run, unless the retention of the account is shortened',
  async () => {
    const again = await ctl('retention', 'apply', '--json');
    assert.is(again.code, 0, again.err);
    const { trimmed, looked_at } = JSON.parse(again.out);
    assert.equal([trimmed, looked_at], [0, SMALL + 2]);
    await keeps(forgetting, 1);
    const sooner = await ctl('retention', 'apply', '--json');
    assert.is(JSON.parse(sooner.out).observations, 80);
    assert.equal(await shown(forgetting, long), []);
  },
);

retention.run();
