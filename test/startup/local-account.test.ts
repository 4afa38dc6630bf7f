import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AuditTrail } from '#audit/trail';
import { accountAdmin } from '#limiter/admin/accounts';
import { LOCAL_ACCOUNT_ID, localAccount } from '#startup/local-account';
import { systemClock } from '#stdlib/clock';
import { systemRandomness } from '#stdlib/randomness';
import { cassandraAccountStore } from '#storage/cassandra/accounts';
import { cassandraAuditStore } from '#storage/cassandra/audit';
import { memoryKeyUseStore } from '#storage/memory/accounts';
import { memoryMeterStore } from '#storage/memory/meters';
import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { start } from '#test/support/servers/service';

const cassandra = cassandraOrSkip();

const KEY = /svc_sk_[0-9A-Za-z]{50}/g;

const local = suite('a local service');

local('prints a key of an enterprise account with high limits', async () => {
  const { child, lines } = await start('standalone', { SERVICE_LOCAL_ACCOUNT: 'true' }, /Ctrl-C/);
  const text = lines.join('\n');
  const key = /svc_sk_[0-9A-Za-z]{50}/.exec(text)?.[0];
  const api = /(http:\S+\/v1)/.exec(text)?.[1];
  assert.ok(key && api, text);
  const answer = await fetch(`${api}/personas`, { headers: { authorization: `Bearer ${key}` } });
  await answer.text();
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  assert.equal(await ended, [0, null]);
  assert.is(answer.status, 200);
  assert.is(answer.headers.get('x-ratelimit-limit'), '1000000');
  assert.is(answer.headers.get('x-monthly-remaining'), '1000000000');
});

const lasting = cassandra.suite('a local account on Cassandra');

/** Starts a service with the local account on the tables of a keyspace. */
async function startOn(keyspace: string): Promise<ProcessRun> {
  const run = runMain(['standalone'], {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: cassandra.address,
    SERVICE_CASSANDRA_KEYSPACE: keyspace,
    SERVICE_SHARDS: '8',
    SERVICE_LIMITER_TIMEOUT_MS: '5000',
    SERVICE_LOCAL_ACCOUNT: 'true',
  });
  await run.says(/Ctrl-C/);
  return run;
}

async function end(run: ProcessRun): Promise<void> {
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
}

lasting('is created by the first start and found by later starts', async () => {
  await using keyspace = await openMigratedKeyspace(cassandra.address);
  const first = await startOn(keyspace.name);
  await end(first);
  const [key = ''] = first.stdout().match(KEY) ?? [];
  assert.ok(key, first.stdout());

  const second = await startOn(keyspace.name);
  const api = /(http:\S+\/v1)/.exec(second.stdout())?.[1];
  const answer = await fetch(`${api}/personas`, { headers: { authorization: `Bearer ${key}` } });
  await answer.text();
  await end(second);
  assert.is(answer.status, 200);
  assert.equal(second.stdout().match(KEY), null, 'only the first start prints the key');
  assert.match(second.stdout(), /make ctl ARGS="keys create localAccount"/);

  const store = cassandraAccountStore(keyspace.session, systemClock);
  const accounts = await store.list({ afterId: undefined, limit: 10 });
  assert.equal(
    accounts.map(({ name, plan }) => [name, plan]),
    [['local', 'enterprise']],
  );
  assert.is((await store.find(LOCAL_ACCOUNT_ID))?.keys.length, 1);
});

lasting('is created only once by concurrent starts', async () => {
  await using keyspace = await openMigratedKeyspace(cassandra.address);
  const store = cassandraAccountStore(keyspace.session, systemClock);
  const admin = accountAdmin({
    accounts: store,
    keyUses: memoryKeyUseStore(),
    months: memoryMeterStore(),
    clock: systemClock,
    randomness: systemRandomness,
    announce: async () => undefined,
    usage: async () => undefined,
    resetUsage: async () => undefined,
  });
  const audit = new AuditTrail({
    store: cassandraAuditStore(keyspace.session),
    clock: systemClock,
  });
  const found = await Promise.all(Array.from({ length: 6 }, () => localAccount({ admin, audit })));
  assert.is(found.filter(({ kind }) => kind === 'made').length, 1);
  assert.is((await store.list({ afterId: undefined, limit: 10 })).length, 1);
  assert.is((await store.find(LOCAL_ACCOUNT_ID))?.keys.length, 1);
});

local.run();
lasting.run();
