import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';
import { type Caller, callerOf, newCaller } from '#test/support/calls/caller';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import { runMain } from '#test/support/process-run';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

const INSTANCES = 300;

/** Number of observations of the first instance, more than a head holds. */
const OBSERVATIONS = 100;

/**
 * Number of stored heads at which the test kills the import. More than `ctl import` writes
 * concurrently.
 */
const CUT_AFTER = 30;

/** Idle seconds until instances are stored and evicted: the minimum setting. */
const IDLE_S = 30;

/** Seconds until every limiter applies a change. */
const KNOWN_S = 30;

const READS = ['', '/history?limit=100', '/drift?limit=100', '/snapshot', '/contract'];

let folder = '';
let from: OwnCluster;
let to: OwnCluster;
let caller: Caller;
const ids: string[] = [];

const move = suite('an account that moves to another cluster');

move.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'account-move-'));
  const variables = { SERVICE_ACTOR_IDLE_S: String(IDLE_S) };
  from = await startOwnCluster({ cassandra, nats }, ['a'], { limiters: ['l'], variables });
  to = await startOwnCluster({ cassandra, nats }, ['b'], { limiters: ['m'] });
  caller = await newCaller(from.service());
  for (let index = 0; index < INSTANCES; index += 1) {
    ids.push(await createInstance(caller, { name: `n${index}` }));
  }
  const [first = '', second = ''] = ids;
  for (let n = 0; n < OBSERVATIONS; n += 1) {
    const fields = { mode_target: n % 4 === 0 ? 'EXPLORATION' : 'ASSERTION', signal_strength: 1 };
    await process(caller, first, observationAt(2 * n, { ...fields, context: { n } }));
  }
  await process(caller, second, observationAt(0));
  await sleep((IDLE_S + 10) * 1_000);
});
move.after(async () => {
  await from?.[Symbol.asyncDispose]();
  await to?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const fileOf = (name: string) => join(folder, name);

async function ctl(cluster: OwnCluster, ...argv: string[]) {
  const run = runMain(['ctl', ...argv], cluster.variables);
  const code = await run.ended;
  return { code, out: run.stdout(), err: run.stderr() };
}

/** Waits until the keyspace, which has no other instances, stores `count` heads. */
async function storedHeads(keyspace: string, count: number): Promise<void> {
  await using session = await sessionIn(cassandra, keyspace);
  const query = `SELECT bucket FROM heads LIMIT ${count}`;
  const options = { kind: 'read', operation: 'test' } as const;
  while ((await session.execute(query, [], options)).rowLength < count) {
    await nextTurn();
  }
}

/** Waits until the service accepts the caller's key. */
async function admitted(moved: Caller): Promise<void> {
  for (let waitedS = 0; waitedS < KNOWN_S; waitedS += 1) {
    if ((await moved.send('GET', '/instances')).status === 200) return;
    await sleep(1_000);
  }
  throw new Error('the service does not accept the key');
}

move('gives the same answers after an export and an interrupted import', async () => {
  const path = fileOf('moved.ndjson');
  const exported = await ctl(from, 'export', caller.accountId, '--file', path);
  assert.is(exported.code, 0, exported.err);
  assert.match(exported.out, new RegExp(`: ${INSTANCES} instances, ${OBSERVATIONS + 1} obs`));
  const moved = callerOf(to.service(), caller.accountId, caller.key);
  const cut = runMain(['ctl', 'import', path], to.variables);
  await cut.says(/is complete/);
  await storedHeads(to.keyspace, CUT_AFTER);
  cut.child.kill('SIGKILL');
  await cut.ended;
  assert.is((await moved.send('GET', '/instances')).status, 401, cut.stdout());
  const imported = await ctl(to, 'import', path);
  assert.is(imported.code, 0, imported.err);
  assert.match(imported.out, /^An earlier run had already imported \d+ instances?\.$/m);
  await admitted(moved);
  for (const id of [...ids.slice(0, 3), ...ids.slice(-1)]) {
    for (const part of READS) {
      const [here, there] = await Promise.all(
        [moved, caller].map((one) => one.send('GET', `/instances/${id}${part}`)),
      );
      assert.is(here?.status, 200, part);
      assert.is(here?.text, there?.text, part);
      assert.is(here?.headers.get('etag'), there?.headers.get('etag'), part);
    }
  }
  const listed = await moved.send('GET', '/instances?limit=1');
  assert.is(listed.body.pagination.total, INSTANCES);
  const verified = await ctl(to, 'verify', ids[0] ?? '');
  assert.match(verified.out, /100 observations .* gives the head, bit for bit/);
});

move('continues in its new cluster, and is not imported twice', async () => {
  const moved = callerOf(to.service(), caller.accountId, caller.key);
  const [first = ''] = ids;
  const answer = await process(moved, first, observationAt(2 * OBSERVATIONS));
  assert.is(answer.snapshot.cycle, OBSERVATIONS + 1);
  const again = await ctl(to, 'import', fileOf('moved.ndjson'));
  assert.is(again.code, 1);
  assert.match(again.err, /exists already \(active\): nothing was imported$/m);
});

move('can be exported to standard output, with a line for every row', async () => {
  const { code, out, err } = await ctl(from, 'export', caller.accountId);
  assert.is(code, 0, err);
  const lines = out.trimEnd().split('\n');
  assert.is(lines.length, 1 + 1 + 1 + INSTANCES + OBSERVATIONS + 1 + driftsIn(lines) + 1);
  assert.match(lines.at(-1) ?? '', /^{"kind":"end","keys":1,"instances":300,"observations":101,/);
});

function driftsIn(lines: readonly string[]): number {
  return lines.filter((line) => line.startsWith('{"kind":"drift"')).length;
}

move.run();
