import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { parseApiKey } from '#accounts/api-key';
import { openNatsBus } from '#bus/nats-bus';
import { announcementSubject, heartbeatSubject } from '#cluster/heartbeat';
import { presentSubject, rollCallSubject } from '#cluster/roll-call';
import { makeSetUpLink } from '#console/people/entry';
import { accountSubject } from '#startup/cluster';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { releaseOf } from '#stdlib/release';
import { cassandraMemberStore } from '#storage/cassandra/people';
import { Browser } from '#test/console/browser';
import { PASSWORD, tokenIn } from '#test/console/console-fixture';
import {
  type MigratedKeyspace,
  openMigratedKeyspace,
} from '#test/storage/cassandra/migrated-keyspace';
import { callerOf, newCaller } from '#test/support/calls/caller';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { type Cluster, startCluster } from '#test/support/servers/cluster';
import { type OwnNats, ownNats } from '#test/support/servers/own-nats';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';
import { noteLogger } from '#test/support/test-logger';

const { address: cassandra } = cassandraOrSkip();
const { suite } = natsOrSkip();

/**
 * Maximum time until an announced change applies on a busy machine, in milliseconds. An idle
 * machine needs a second. Without the announcement, the change would apply after up to 30 s.
 */
const HEARD_MS_MAX = 10_000;

const ROLES = ['engine', 'limiter', 'edge', 'console', 'ctl'] as const;

/** No permissions, for anonymous clients such as the server check of the tests. */
const NONE = 'permissions { publish: { deny: ">" }, subscribe: { deny: ">" } }';

/** NATS settings from docs/cluster.md, for this prefix. */
function documentedSettings(prefix: string): string {
  const [, settings = ''] =
    /```\n(authorization \{\n[\s\S]*?\n\})\n```/.exec(readFileSync('docs/cluster.md', 'utf8')) ??
    [];
  assert.ok(settings !== '', 'docs/cluster.md has no settings of NATS');
  const named = ROLES.reduce(
    (text, role) => text.replace(`$${role.toUpperCase()}_PASSWORD`, `"${role}"`),
    settings.replaceAll('identity-engine', prefix),
  );
  return `${named.replace('users: [', `users: [ { user: none, password: "", ${NONE} }`)}\nno_auth_user: none\n`;
}

const userOf = (role: string) => ({ SERVICE_NATS_USERNAME: role, SERVICE_NATS_PASSWORD: role });

let keyspace: MigratedKeyspace;
let nats: OwnNats;
let cluster: Cluster;

const permitted = suite('with the NATS permissions in docs/cluster.md');

permitted.before(async () => {
  if (cassandra === '') return;
  keyspace = await openMigratedKeyspace(cassandra);
  nats = await ownNats(documentedSettings(keyspace.name));
  const place = { cassandra, keyspace: keyspace.name, nats: nats.address };
  const parts = { limiters: ['l1', 'l2'], variablesOf: userOf };
  cluster = await startCluster(place, ['a', 'b'], parts);
});
permitted.after(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await keyspace?.[Symbol.asyncDispose]();
});

const all = (): ProcessRun[] => [
  ...cluster.engines.values(),
  ...cluster.limiters.values(),
  cluster.edge,
];

permitted('a cluster serves, exchanges heartbeats, and takes over from a dead node', async () => {
  if (cassandra === '') return;
  const caller = await newCaller(cluster.service());
  const ids = await Promise.all(Array.from({ length: 4 }, () => createInstance(caller)));
  cluster.engines.get('a')?.child.kill('SIGKILL');
  for (const id of ids) await process(caller, id, observationAt(0));
  for (const run of all()) assert.not.match(run.stderr(), /NATS: .*(refused|could not)/);
});

/** Serving processes according to `ctl nodes`: kind, name and release. */
async function servingNodes(...options: readonly string[]): Promise<readonly string[]> {
  const variables = { ...cluster.variables, ...userOf('ctl') };
  const run = runMain(['ctl', 'nodes', '--json', ...options], variables);
  assert.is(await run.ended, 0, run.stderr());
  const nodes: Record<'service' | 'node' | 'state' | 'release', string>[] = JSON.parse(
    run.stdout(),
  );
  return nodes
    .filter(({ state }) => state === 'serving')
    .map(({ service, node, release }) => `${service} ${node} ${release}`);
}

// Report 36: the releases of edges and consoles could not be seen.
permitted('ctl shows every node and the edge', async () => {
  if (cassandra === '') return;
  const release = releaseOf();
  const nodes = [
    'engine b',
    'limiter l1',
    'limiter l2',
    `edge ${hostname()}:${cluster.edge.child.pid}`,
  ];
  assert.equal(
    await servingNodes(),
    nodes.map((node) => `${node} ${release}`),
  );
});

permitted('a console reaches the nodes, and every process applies its changes', async () => {
  if (cassandra === '') return;
  const run = runMain(['console'], { ...cluster.variables, ...userOf('console') });
  await run.says(/console is ready/);
  const [origin = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(run.stdout()) ?? [];
  const accountId = parseApiKey(cluster.caller.key)?.accountId ?? '';
  const members = cassandraMemberStore(keyspace.session);
  const making = { members, clock: systemClock, randomness: systemRandomness };
  const token = tokenIn(await makeSetUpLink(making, accountId, origin));
  const owner = new Browser(origin, { origin, from: '127.0.0.1' });
  const ada = { email: 'ada@example.com', password: PASSWORD, name: 'Ada' };
  await owner.expect(201, 'POST', '/setup', { ...ada, token });
  await owner.expect(200, 'GET', '/usage');
  const { data } = await owner.expect(201, 'POST', '/keys', { name: 'one', scope: 'full' });
  assert.equal(await servingNodes('--service', 'console'), [
    `console ${hostname()}:${run.child.pid} ${releaseOf()}`,
  ]);
  const caller = callerOf(cluster.service(), accountId, String(data['key']));
  assert.is((await caller.send('GET', '/instances')).status, 200);
  await owner.expect(200, 'DELETE', `/keys/${data['id']}`);
  const deadlineMs = performance.now() + HEARD_MS_MAX;
  while ((await caller.send('GET', '/instances')).status !== 401) {
    assert.ok(performance.now() < deadlineMs, 'the edge does not apply the revocation');
    await sleep(20);
  }
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
  assert.not.match(run.stderr(), /NATS: .*(refused|could not)/);
});

permitted('no role may publish the messages of another role', async () => {
  if (cassandra === '') return;
  const prefix = keyspace.name;
  const [heartbeat, shard] = [heartbeatSubject, announcementSubject];
  const heartbeats = [heartbeat(prefix, 'engine'), heartbeat(prefix, 'limiter')];
  const foreign = {
    engine: [heartbeat(prefix, 'limiter'), accountSubject(prefix), presentSubject(prefix)],
    limiter: [heartbeat(prefix, 'engine'), shard(prefix, 'engine'), presentSubject(prefix)],
    edge: [...heartbeats, accountSubject(prefix), rollCallSubject(prefix)],
    console: [...heartbeats, shard(prefix, 'engine'), rollCallSubject(prefix)],
    ctl: [...heartbeats, shard(prefix, 'engine'), presentSubject(prefix)],
  };
  for (const role of ROLES) {
    const notices: string[] = [];
    await using bus = await openNatsBus({
      ...{ servers: [nats.address], name: role, clock: systemClock },
      credentials: unchanging({ username: role, password: role }),
      onBug: (error) => assert.unreachable(String(error)),
      logger: noteLogger((notice) => void notices.push(notice)),
    });
    for (const subject of foreign[role]) bus.publish(subject, Buffer.from('x'));
    for (let attempts = 0; attempts < 100 && notices.length < foreign[role].length; attempts += 1) {
      await sleep(20);
    }
    assert.is(notices.length, foreign[role].length, `${role}: ${notices.join('; ')}`);
  }
});

permitted.run();
