import * as assert from 'uvu/assert';
import type { CassandraSession } from '#storage/cassandra/session';
import { damage, type Trace, tracesOf } from '#test/storage/cassandra/keyspace-scan';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';
import { createInstance, observationAt } from '#test/support/calls/scene';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/** Maximum seconds until a deletion is stored in every table. */
const DELETION_S = 20;
/** Further seconds for a busy machine. */
const SLACK_S = 10;

/** Idle seconds until instances are stored and evicted: the minimum setting. */
const IDLE_S = 30;

/** Metric with the number of instances in memory. */
const ACTIVE = 'identity_actors_active{actor="instance"';

const LIMITED = { limiters: ['limiter'] };

/** Number of observations of an instance, more than a head holds. */
const OBSERVATIONS = 40;

let cluster: OwnCluster;
let session: CassandraSession;
const ids: Record<'deleted' | 'headless' | 'chunkless' | 'whole', string> = {
  deleted: '',
  headless: '',
  chunkless: '',
  whole: '',
};
/** Texts that occur only in the deleted instance, one per field. */
const TEXTS = ['a-name-to-forget', 'a-description-to-forget', 'a-context-to-forget'];

const stored = suite('with fully stored instances,');

stored.before(async () => {
  const variablesOf = () => ({ SERVICE_ACTOR_IDLE_S: String(IDLE_S) });
  cluster = await startOwnCluster({ cassandra, nats }, ['a'], { ...LIMITED, variablesOf });
  session = await sessionIn(cassandra, cluster.keyspace);
  const [name, description] = TEXTS;
  const fields = { name, description };
  ids.deleted = await createInstance(cluster.caller, fields);
  for (const which of ['headless', 'chunkless', 'whole'] as const) {
    ids[which] = await createInstance(cluster.caller);
  }
  await Promise.all(Object.values(ids).map(observe));
  const all = Object.keys(ids).length;
  await active((count) => count >= all, 'instances are not in memory', 5);
  await active((count) => count === 0, 'instances stay in memory', 3 * IDLE_S);
});
stored.after(async () => {
  await session?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

/** Observes an instance with contexts. Every tenth call has an idempotency key. */
async function observe(id: string): Promise<void> {
  for (let seconds = 0; seconds < 2 * OBSERVATIONS; seconds += 2) {
    const headers = seconds % 20 === 0 ? { 'idempotency-key': `key-${id}-${seconds}` } : {};
    const fields = {
      mode_target: seconds % 4 === 0 ? 'EXPLORATION' : 'ASSERTION',
      signal_strength: 1,
      context: { text: id === ids.deleted ? TEXTS[2] : 'kept' },
    };
    const path = `/instances/${id}/process`;
    const answer = await cluster.caller.send('POST', path, {
      json: observationAt(seconds, fields),
      headers,
    });
    assert.is(answer.status, 200, answer.text);
  }
}

/** Waits until enough instances are in memory. Engines count the instances once a second. */
async function active(
  isEnough: (count: number) => boolean,
  otherwise: string,
  secondsMax: number,
): Promise<void> {
  for (let waitedS = 0; waitedS < secondsMax; waitedS += 1) {
    if (isEnough(await cluster.metric(engine(), ACTIVE))) return;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  throw new Error(otherwise);
}

function traces(): Promise<Trace[]> {
  return tracesOf(session, cluster.keyspace, [ids.deleted, ...TEXTS]);
}

function read(id: string, part = '') {
  return cluster.caller.send('GET', `/instances/${id}${part}`);
}

/**
 * Tables that name a deleted instance: its tombstone, its removed listing entry, its audit trail,
 * and the log of its account. The record of this log stays in the journal for two minutes.
 */
const REMEMBERING = ['heads', 'listings', 'audit', 'feeds', 'feed_chunks', 'journal'];

/**
 * Whether only these tables name the instance, and no table has one of its texts. The audit trail
 * keeps the name, so that a search by name finds who deleted the instance.
 */
function isForgotten(found: readonly Trace[]): boolean {
  const [name] = TEXTS;
  return found.every(({ found: text, table }) =>
    table === 'audit' && text === name ? true : text === ids.deleted && REMEMBERING.includes(table),
  );
}

stored('a deletion leaves only the tombstone in the tables within the time limit', async () => {
  const before = new Set((await traces()).map(({ table }) => table));
  for (const table of ['heads', 'history', 'answers', 'listings']) {
    assert.ok(before.has(table), `the scan finds nothing in ${table}`);
  }
  const answer = await cluster.caller.send('DELETE', `/instances/${ids.deleted}`);
  assert.is(answer.status, 200, answer.text);
  let found = await traces();
  for (let waitedS = 0; !isForgotten(found) && waitedS < DELETION_S + SLACK_S; waitedS += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    found = await traces();
  }
  // Its observations leave the journal too, because the low-water mark has passed the instance.
  const left = found.map((trace) => `${trace.found} in ${trace.table}`);
  assert.ok(isForgotten(found), left.slice(0, 20).join(', '));
  assert.is((await read(ids.whole, '/history?limit=100')).body.data.length, OBSERVATIONS);
});

stored(
  'a damaged head causes a 500 with the reason in the log, and other instances are served',
  async () => {
    await damage(session, 'heads', ids.headless);
    const answer = await read(ids.headless);
    assert.equal([answer.status, answer.body.error], [500, 'internal']);
    assert.not.match(answer.text, /checksum/);
    await engine().says(new RegExp(`the head of ${ids.headless} does not match its checksum`));
    assert.is((await read(ids.whole)).status, 200);
    const listing = await cluster.caller.send('GET', '/instances');
    assert.is(listing.status, 200, listing.text);
    assert.match(await verified(ids.headless), new RegExp(`the head of ${ids.headless} does not`));
  },
);

stored('a damaged chunk causes a 500 only for reads of that chunk', async () => {
  await damage(session, 'history', ids.chunkless);
  const answer = await read(ids.chunkless, '/history?limit=100');
  assert.equal([answer.status, answer.body.error], [500, 'internal']);
  const text = `the chunk of observations up to \\d+ of ${ids.chunkless} does not match`;
  await engine().says(new RegExp(text));
  assert.is((await read(ids.chunkless)).status, 200);
  // These rows are in the head, not in a chunk.
  assert.is((await read(ids.chunkless, '/history?limit=3')).body.data.length, 3);
  assert.is((await read(ids.whole, '/history?limit=100')).body.data.length, OBSERVATIONS);
  assert.match(await verified(ids.chunkless), new RegExp(text));
});

stored('ctl verify confirms an undamaged instance', async () => {
  assert.match(await verified(ids.whole), /40 observations .* gives the head, bit for bit/);
});

stored.run();

function engine(): ProcessRun {
  const run = cluster.engines.get('a');
  if (run === undefined) throw new Error('there is no engine');
  return run;
}

/** Output of `ctl verify`. */
async function verified(id: string): Promise<string> {
  const run = runMain(['ctl', 'verify', id], cluster.variables);
  await run.ended;
  return run.stdout() + run.stderr();
}
