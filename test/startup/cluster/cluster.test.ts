import * as assert from 'uvu/assert';
import { createInstance, observationAt } from '#test/support/calls/scene';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/** Continuously observed instances, several per engine. */
const INSTANCES = 12;

/** Results of all observations during a cluster change. */
type Observed = { acknowledged: number; readonly refusals: string[] };

let cluster: OwnCluster;
let ids: string[] = [];
/** Seconds since the first observation of every instance; increases with each call. */
let seconds = 0;
const acknowledged = new Map<string, number>();

const running = suite('when an engine of a cluster joins or leaves under load');

running.before(async () => {
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b']);
  const create = () => createInstance(cluster.caller);
  ids = await Promise.all(Array.from({ length: INSTANCES }, create));
});
running.after(async () => {
  await cluster[Symbol.asyncDispose]();
});

/** Observes every instance until `change` ends, with one call at a time per instance. */
async function under(change: () => Promise<void>): Promise<Observed> {
  const observed: Observed = { acknowledged: 0, refusals: [] };
  const state = { isOver: false };
  const callers = ids.map(async (id) => {
    while (!state.isOver) {
      seconds += 2;
      const answer = await cluster.caller.send('POST', `/instances/${id}/process`, {
        json: observationAt(seconds),
      });
      if (answer.status !== 200) observed.refusals.push(answer.text);
      else {
        observed.acknowledged += 1;
        const count = (acknowledged.get(id) ?? 0) + 1;
        acknowledged.set(id, count);
        assert.is(answer.body.data.snapshot.cycle, count, `${id} lost or doubled a cycle`);
      }
    }
  });
  try {
    await change();
  } finally {
    state.isOver = true;
    await Promise.all(callers);
  }
  return observed;
}

/** Waits until an engine owns enough shards. */
async function owned(name: string, isEnough: (count: number) => boolean): Promise<void> {
  const run = cluster.engines.get(name);
  if (run === undefined) throw new Error(`there is no engine ${name}`);
  // A moved shard stays for 30 s (cool-down).
  for (let attempts = 0; attempts < 600; attempts += 1) {
    if (isEnough(await cluster.metric(run, 'shards_owned'))) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${name} does not own enough shards`);
}

running('no call fails after kill -9, and no cycle is lost or doubled', async () => {
  await owned('a', (count) => count > 0);
  await owned('b', (count) => count > 0);
  const observed = await under(async () => {
    const victim = cluster.engines.get('b')?.child;
    victim?.kill('SIGKILL');
    await owned('a', (count) => count === 16);
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  assert.equal(observed.refusals, []);
  assert.ok(observed.acknowledged > INSTANCES);
  cluster.engines.delete('b');
});

running('a joining engine gets its share of shards, and no call fails', async () => {
  const observed = await under(async () => {
    await cluster.startEngine('c');
    await owned('c', (count) => count === 8);
  });
  assert.equal(observed.refusals, []);
  assert.ok(observed.acknowledged > INSTANCES);
});

running('an engine stopped by SIGTERM moves all shards first, and no call fails', async () => {
  const observed = await under(async () => {
    const leaving = cluster.engines.get('a');
    leaving?.child.kill('SIGTERM');
    assert.is(await leaving?.ended, 0, leaving?.stderr());
    await owned('c', (count) => count === 16);
  });
  assert.equal(observed.refusals, []);
  assert.ok(observed.acknowledged > INSTANCES);
  cluster.engines.delete('a');
});

running('the histories have exactly the acknowledged observations', async () => {
  for (const id of ids) {
    const answer = await cluster.caller.send('GET', `/instances/${id}/history?limit=1`);
    assert.is(answer.body.pagination.total, acknowledged.get(id));
  }
  const listing = await cluster.caller.send('GET', '/instances');
  assert.is(listing.body.pagination.total, INSTANCES);
});

running('the metrics of the remaining engine show the change', async () => {
  const [survivor] = cluster.engines.values();
  if (survivor === undefined) throw new Error('no engine is left');
  for (const name of [
    'journal_append_seconds_count{service="engine"}',
    'journal_group_records_count{service="engine"}',
    'shards_owned{service="engine"}',
    'shard_moves_total{service="engine",reason="given"}',
    'db_client_operation_duration_seconds_count{db_system_name="cassandra"',
  ]) {
    assert.ok((await cluster.metric(survivor, name)) > 0, name);
  }
});

running.run();
