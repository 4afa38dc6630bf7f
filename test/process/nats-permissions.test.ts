import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { openNatsBus } from '#bus/nats-bus';
import { announcementSubject, heartbeatSubject } from '#cluster/heartbeat';
import { systemClock } from '#platform/clock';
import { unchanging } from '#platform/reloadable';
import { accountSubject } from '#process/bus-account-news';
import { type MigratedKeyspace, openMigratedKeyspace } from '#test/storage/migrated-keyspace';
import { newCaller } from '#test/support/caller';
import { type Cluster, startCluster } from '#test/support/cluster';
import { type OwnNats, ownNats } from '#test/support/own-nats';
import { type ProcessRun, runMain } from '#test/support/process-run';
import { cassandraOrSkip, natsOrSkip } from '#test/support/real-servers';
import { createInstance, observationAt, process } from '#test/support/scene';

const { address: cassandra } = cassandraOrSkip();
const { suite } = natsOrSkip();

const ROLES = ['engine', 'limiter', 'edge', 'console', 'ctl'] as const;

/** A client without a name, as the start's own look is; it may say and hear nothing. */
const NONE = 'permissions { publish: { deny: ">" }, subscribe: { deny: ">" } }';

/** What the document says that an operator sets, for this prefix. */
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

const permitted = suite('under the permissions of NATS that docs/cluster.md names');

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

permitted('a cluster serves, hears its nodes and takes over from a dead one', async () => {
  if (cassandra === '') return;
  const caller = await newCaller(cluster.service());
  const ids = await Promise.all(Array.from({ length: 4 }, () => createInstance(caller)));
  cluster.engines.get('a')?.child.kill('SIGKILL');
  for (const id of ids) await process(caller, id, observationAt(0));
  for (const run of all()) assert.not.match(run.stderr(), /NATS: .*(refuses|not heard|not sent)/);
});

permitted('ctl hears every node', async () => {
  if (cassandra === '') return;
  const run = runMain(['ctl', 'nodes', '--json'], {
    ...cluster.variables,
    ...userOf('ctl'),
  });
  assert.is(await run.ended, 0, run.stderr());
  const nodes: { node: string; state: string }[] = JSON.parse(run.stdout());
  const serving = nodes.filter(({ state }) => state === 'serving').map(({ node }) => node);
  assert.equal(serving.sort(), ['b', 'l1', 'l2']);
});

permitted('no role publishes what is another’s to say', async () => {
  if (cassandra === '') return;
  const prefix = keyspace.name;
  const [heartbeat, shard] = [heartbeatSubject, announcementSubject];
  const foreign = {
    engine: [heartbeat(prefix, 'limiter'), accountSubject(prefix)],
    limiter: [heartbeat(prefix, 'engine'), shard(prefix, 'engine')],
    edge: [heartbeat(prefix, 'engine'), heartbeat(prefix, 'limiter'), accountSubject(prefix)],
    console: [heartbeat(prefix, 'engine'), heartbeat(prefix, 'limiter'), shard(prefix, 'engine')],
    ctl: [heartbeat(prefix, 'engine'), heartbeat(prefix, 'limiter'), shard(prefix, 'engine')],
  };
  for (const role of ROLES) {
    const notices: string[] = [];
    await using bus = await openNatsBus({
      ...{ servers: [nats.address], name: role, clock: systemClock },
      credentials: unchanging({ username: role, password: role }),
      onBug: (error) => assert.unreachable(String(error)),
      onNotice: (notice) => notices.push(notice),
    });
    for (const subject of foreign[role]) bus.publish(subject, Buffer.from('x'));
    for (let tries = 0; tries < 100 && notices.length < foreign[role].length; tries += 1) {
      await sleep(20);
    }
    assert.is(notices.length, foreign[role].length, `${role}: ${notices.join('; ')}`);
  }
});

permitted.run();
