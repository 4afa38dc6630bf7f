import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeSetUpLink } from '#console/people/entry';
import { systemClock } from '#stdlib/clock';
import { systemRandomness } from '#stdlib/randomness';
import { cassandraMemberStore } from '#storage/cassandra/people';
import { Browser } from '#test/console/browser';
import { PASSWORD, tokenIn } from '#test/console/console-fixture';
import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { addressIn, runMain } from '#test/support/process-run';
import { startCluster } from '#test/support/servers/cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const cassandra = cassandraOrSkip();
const nats = natsOrSkip();

const OWNER = { email: 'ada@example.com', password: PASSWORD, name: 'Ada' };
const OBSERVATION = { mode_target: 'ORDER', signal_strength: 0.7 };

/** Creates and uses an instance through the console's routes. */
async function useInstances(browser: Browser): Promise<string> {
  const created = await browser.expect(201, 'POST', '/instances', { name: 'Iris' });
  const id = String(created.data['id']);
  const { body } = await browser.expect(200, 'GET', '/instances?search=iris');
  assert.equal([body.pagination.total, body.data[0].id], [1, id]);
  using reader = await browser.follow(`/instances/${id}/events`);
  await reader.until('state');
  await browser.expect(200, 'POST', `/instances/${id}/process`, OBSERVATION);
  assert.is((await reader.until('cycle')).at(-1)?.id, 1);
  const { data } = await browser.expect(200, 'GET', '/usage');
  assert.is(data['cycles_used'], 1);
  const { data: used } = await browser.expect(200, 'GET', '/usage/instances');
  assert.equal(used['instances'], [{ id, name: 'Iris', cycles: 1 }]);
  assert.equal([used['other_cycles'], used['is_complete']], [0, true]);
  const { body: trail } = await browser.expect(200, 'GET', `/audit?search=${id}`);
  assert.equal([trail.data[0].action, trail.data[0].actor.kind], ['instance.create', 'user']);
  return id;
}

const beside = suite('instances in the console of a standalone process');

beside('can be used by a member, and are the same as in the API', async () => {
  const run = runMain(['standalone'], { SERVICE_LOCAL_ACCOUNT: 'true' });
  await run.says(/Ctrl-C/);
  const [, link = '', origin = ''] =
    /Console {2}((http:\S+)\/#\/set-up\/\S+)/.exec(run.stdout()) ?? [];
  const browser = new Browser(origin, { origin, from: '127.0.0.1' });
  await browser.expect(201, 'POST', '/setup', { ...OWNER, token: tokenIn(link) });
  const id = await useInstances(browser);
  const [, api = ''] = /API {6}(http:\S+\/v1)/.exec(run.stdout()) ?? [];
  const key = /svc_sk_[0-9A-Za-z]{50}/.exec(run.stdout())?.[0];
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${api}/instances/${id}`, { headers });
  const { data } = (await answer.json()) as { data: { cycle_count: number } };
  assert.is(data.cycle_count, 1);
  const open = await browser.follow(`/instances/${id}/events`);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
  await open.rest();
});

const apart = cassandra.suite('instances in the console of a cluster with certificates');

apart('can be used by a member whom only the console admits', async () => {
  await using keyspace = await openMigratedKeyspace(cassandra.address);
  const variablesOf = (part: string) => ({
    SERVICE_TLS_FOLDER: join('test/grpc/certificates', part),
  });
  const servers = { cassandra: cassandra.address, nats: nats.address, keyspace: keyspace.name };
  await using cluster = await startCluster(servers, ['a', 'b'], {
    ...{ limiters: ['limiter'], variablesOf },
  });
  const run = runMain(['console'], { ...cluster.variables, ...variablesOf('console') });
  await run.says(/"?console"?\W+http/);
  const [origin = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(run.stdout()) ?? [];
  const members = cassandraMemberStore(keyspace.session);
  const ports = { members, clock: systemClock, randomness: systemRandomness };
  const link = await makeSetUpLink(ports, cluster.caller.accountId, origin);
  const browser = new Browser(origin, { origin, from: '127.0.0.1' });
  await browser.expect(201, 'POST', '/setup', { ...OWNER, token: tokenIn(link) });
  const id = await useInstances(browser);
  const seen = await cluster.caller.send('GET', `/instances/${id}`);
  assert.is(seen.body.data.cycle_count, 1);
  const scrape = await (await fetch(addressIn(run, 'metrics'))).text();
  assert.match(scrape, /^console_request_duration_seconds_count{.*\/api\/instances\/:id\/process/m);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
  const wrong = runMain(['console'], { ...cluster.variables, ...variablesOf('edge') });
  assert.is(await wrong.ended, 1);
  assert.match(wrong.stderr(), /is not for the DNS name console\.identity-engine/);
});

for (const each of [beside, apart]) each.run();
