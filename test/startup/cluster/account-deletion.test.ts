import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { digestOf } from '#accounts/api-key';
import type { CassandraSession } from '#storage/cassandra/session';
import { type Trace, tracesOf } from '#test/storage/cassandra/keyspace-scan';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';
import { type Caller, newCaller } from '#test/support/calls/caller';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import { runMain, runScript } from '#test/support/process-run';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/** Seconds until no table has data of the account, with the settings of this cluster. */
const GONE_S = 80;

/** Idle seconds until actors are stored and journals may drop their records: the minimum. */
const IDLE_S = '30';

/** Time until every limiter applies a key revocation, in milliseconds. */
const ANNOUNCED_MS = 3_000;

const INSTANCES = 40;

const TEXTS = ['a-name-to-forget', 'a-description-to-forget', 'a-context-to-forget'];

let cluster: OwnCluster;
let session: CassandraSession;
let leaving: Caller;
const ids: string[] = [];

const deletion = suite('a deleted account in a cluster of processes');

deletion.before(async () => {
  const variables = {
    SERVICE_TLS_FOLDER: 'test/grpc/certificates/member',
    SERVICE_ACTOR_IDLE_S: IDLE_S,
  };
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b'], {
    limiters: ['l1', 'l2'],
    variables,
  });
  session = await sessionIn(cassandra, cluster.keyspace);
  leaving = await newCaller(cluster.service());
  const [name, description, text] = TEXTS;
  for (let index = 0; index < INSTANCES; index += 1) {
    const id = await createInstance(leaving, { name, description });
    await process(leaving, id, observationAt(0, { context: { text } }));
    const headers = { 'idempotency-key': `key-${index}` };
    const json = observationAt(5, { context: { text } });
    await leaving.send('POST', `/instances/${id}/process`, { json, headers });
    ids.push(id);
  }
  await process(cluster.caller, await createInstance(cluster.caller), observationAt(0));
});
deletion.after(async () => {
  await session?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

function traces(): Promise<Trace[]> {
  const own = [leaving.accountId, digestOf(leaving.key), ...ids, ...TEXTS];
  return tracesOf(session, cluster.keyspace, own);
}

/** Whether a trace may remain: the account id permanently, instance ids for 40 days. */
function isAllowed({ table, found }: Trace): boolean {
  if (ids.includes(found)) return ['heads', 'listings'].includes(table);
  const isAccount = found === leaving.accountId;
  // The row that closes the account to people also stays, so that no late link admits anyone.
  const ofAccount = ['accounts', 'account_ids', 'account_people', 'heads', 'listings'];
  return isAccount && ofAccount.includes(table);
}

deletion('gets its calls refused within 3 s, and leaves only ids after 80 s', async () => {
  const before = new Set((await traces()).map(({ table }) => table));
  for (const table of ['accounts', 'listings', 'journal']) assert.ok(before.has(table), table);
  const argv = ['accounts', 'delete', leaving.accountId, '--yes'];
  // test/ctl/accounts/delete-command tests the wait of two minutes for calls in flight.
  const run = runScript('test/support/calls/hasty-ctl.ts', argv, cluster.variables);
  await run.says(/all keys are revoked/);
  const untilMs = performance.now() + ANNOUNCED_MS;
  for (let status = 0; status !== 401; ) {
    ({ status } = await leaving.send('GET', '/instances'));
    assert.ok(performance.now() < untilMs, `${status} while its keys are revoked`);
  }
  assert.is(await run.ended, 0, run.stderr());
  assert.match(run.stdout(), new RegExp(`and ${INSTANCES} instances are deleted`));
  let left = (await traces()).filter((trace) => !isAllowed(trace));
  for (let waitedS = 0; left.length > 0 && waitedS < GONE_S; waitedS += 1) {
    await sleep(1_000);
    left = (await traces()).filter((trace) => !isAllowed(trace));
  }
  const named = left.map(({ found, table }) => `${found} in ${table}`);
  assert.is(named.length, 0, [...new Set(named)].slice(0, 20).join(', '));
});

deletion('leaves other accounts unchanged, and keeps its id reserved', async () => {
  const { body } = await cluster.caller.send('GET', '/instances');
  assert.is(body.data.length, 1);
  const again = runMain(
    ['ctl', 'accounts', 'delete', leaving.accountId, '--yes'],
    cluster.variables,
  );
  assert.is(await again.ended, 0, again.stderr());
  assert.match(again.stdout(), /was already deleted/);
  assert.is((await leaving.send('GET', '/instances')).status, 401);
});

deletion.run();
