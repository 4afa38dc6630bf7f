import { randomBytes } from 'node:crypto';
import { suite as plainSuite } from 'uvu';
import * as assert from 'uvu/assert';
import { openNatsBus } from '#bus/nats-bus';
import { signedBus } from '#bus/signed-bus';
import { encodeHeartbeat, type Heartbeat, heartbeatSubject } from '#cluster/heartbeat';
import { every, systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { openEmptyKeyspace, openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { runMain } from '#test/support/process-run';
import { AGENT, ENCRYPTED, NAMED, ownNats } from '#test/support/servers/own-nats';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';
import type { Holder } from '#test/support/servers/server-certificates';
import { SILENT } from '#test/support/test-logger';

const cassandra = cassandraOrSkip();
const nats = natsOrSkip();

/** A port without a listener. */
const UNUSED = '127.0.0.1:9';

/** Cluster secret of all processes. */
const SECRET = 'the secret of this test';

/** Variables for a process with a keyspace of the real server. */
function on(keyspace: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    SERVICE_STORAGE: 'cassandra',
    SERVICE_CASSANDRA_CONTACT_POINTS: cassandra.address,
    SERVICE_CASSANDRA_KEYSPACE: keyspace,
    SERVICE_SHARDS: '8',
    SERVICE_CLUSTER_SECRET: SECRET,
    SERVICE_LOG_LEVEL: 'error',
    ...more,
  };
}

/** Asserts that a start ends with exit code 1 and one line. Returns the line. */
async function complaintOf(argv: string[], variables: Record<string, string>): Promise<string> {
  const run = runMain(argv, variables);
  assert.is(await run.ended, 1, run.stdout() + run.stderr());
  const lines = run.stderr().trimEnd().split('\n');
  assert.is(lines.length, 1, run.stderr());
  return lines[0] ?? '';
}

const unreachable = plainSuite('when a server cannot be reached at start');

unreachable('the start reports Cassandra with address and reason', async () => {
  const place = { SERVICE_CASSANDRA_CONTACT_POINTS: UNUSED };
  for (const argv of [['standalone'], ['limiter'], ['migrate']]) {
    const line = await complaintOf(argv, { ...on('nowhere'), ...place });
    assert.match(line, /^no Cassandra can be used at 127\.0\.0\.1:9: .*ECONNREFUSED/);
  }
});

const half = cassandra.suite('when Cassandra is only half set up');

half('the start names a missing keyspace', async () => {
  const line = await complaintOf(['standalone'], on('no_such_keyspace'));
  assert.match(line, /no_such_keyspace/);
});

half('the start reports missing tables with the command that creates tables', async () => {
  await using keyspace = await openEmptyKeyspace(cassandra.address);
  const line = await complaintOf(['standalone'], on(keyspace.name));
  assert.match(line, /^configuration: there are no tables yet.*main\.ts migrate$/);
});

half('the start names a missing data center', async () => {
  await using keyspace = await openMigratedKeyspace(cassandra.address);
  const place = on(keyspace.name, { SERVICE_CASSANDRA_DATACENTER: 'elsewhere' });
  assert.match(await complaintOf(['standalone'], place), /elsewhere/);
});

/** One keyspace for all tests that only need tables, because creating tables is slow. */
const tables = () => {
  opened ??= openMigratedKeyspace(cassandra.address);
  return opened;
};
let opened: ReturnType<typeof openMigratedKeyspace> | undefined;

const wrong = cassandra.suite('when a process does not fit its cluster');

wrong('another number of shards is rejected, because the number is permanent', async () => {
  await using keyspace = await openMigratedKeyspace(cassandra.address);
  const run = runMain(['standalone'], on(keyspace.name));
  await run.says(/Ctrl-C/);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
  const line = await complaintOf(['standalone'], on(keyspace.name, { SERVICE_SHARDS: '16' }));
  assert.match(line, /^configuration: SERVICE_SHARDS: .* 8 shards, not 16$/);
});

wrong('tables of a newer version are rejected', async () => {
  await using keyspace = await openMigratedKeyspace(cassandra.address);
  const future = `INSERT INTO schema_versions (component, version) VALUES ('tables', 999)`;
  const options = { kind: 'conditional', operation: 'test' } as const;
  await keyspace.session.execute(`${future} IF NOT EXISTS`, [], options);
  for (const argv of [['standalone'], ['migrate']]) {
    assert.match(await complaintOf(argv, on(keyspace.name)), /version 999.*newer/);
  }
});

wrong('a single replica is rejected in production, and logged in development', async () => {
  const keyspace = await tables();
  const production = on(keyspace.name, {
    SERVICE_ENVIRONMENT: 'production',
    SERVICE_CASSANDRA_TLS_FOLDER: 'test/grpc/certificates/member',
    SERVICE_CASSANDRA_TLS_NAME: 'store.internal',
    SERVICE_CLUSTER_SECRET: randomBytes(16).toString('hex'),
  });
  const line = await complaintOf(['standalone'], production);
  assert.match(line, /configuration: keyspace .* keeps 1 copies .*, not 3/);
  const run = runMain(['standalone'], on(keyspace.name, { SERVICE_LOG_LEVEL: 'warn' }));
  await run.says(/Ctrl-C/);
  assert.match(run.stderr(), /keeps 1 copies/);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0);
});

wrong('a Cassandra certificate is accepted only with the configured name', async () => {
  const keyspace = await tables();
  const tls = { SERVICE_CASSANDRA_TLS_FOLDER: 'test/grpc/certificates/member' };
  const named = (SERVICE_CASSANDRA_TLS_NAME: string) =>
    on(keyspace.name, { ...tls, SERVICE_CASSANDRA_TLS_NAME });
  const line = await complaintOf(['standalone'], named('other.internal'));
  assert.match(line, /no Cassandra can be used at .*does not match certificate/);
  const run = runMain(['standalone'], named('store.internal'));
  await run.says(/Ctrl-C/);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0);
});

wrong('a TLS name without certificates is rejected', async () => {
  const line = await complaintOf(
    ['standalone'],
    on('nowhere', { SERVICE_CASSANDRA_TLS_NAME: 'store.internal' }),
  );
  assert.match(
    line,
    /^configuration: SERVICE_CASSANDRA_TLS_NAME needs SERVICE_CASSANDRA_TLS_FOLDER$/,
  );
});

wrong('a NATS server of another authority and a wrong password are rejected', async () => {
  const keyspace = await tables();
  await using server = await ownNats(`${ENCRYPTED}${NAMED}`);
  const variables = (holder: Holder, password: string) =>
    on(keyspace.name, {
      SERVICE_NATS_URL: server.address,
      SERVICE_NATS_USERNAME: AGENT.username,
      SERVICE_NATS_PASSWORD: password,
      SERVICE_NATS_TLS_FOLDER: `test/grpc/certificates/${holder}`,
    });
  const untrusted = await complaintOf(['engine'], variables('stranger', AGENT.password));
  assert.match(untrusted, /^no NATS server at .*(certificate|alert)/);
  const unknown = await complaintOf(['engine'], variables('member', 'wrong one'));
  assert.match(unknown, /^no NATS server at .*authorization/i);
  const run = runMain(['engine'], variables('member', AGENT.password));
  await run.says(/engine is ready/);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
});

wrong('NATS user and password require each other', async () => {
  const place = { SERVICE_NATS_URL: nats.address, SERVICE_NATS_USERNAME: AGENT.username };
  const line = await complaintOf(['edge'], {
    ...place,
    SERVICE_CLUSTER_SECRET: SECRET,
  });
  assert.match(line, /^configuration: set both SERVICE_NATS_USERNAME and SERVICE_NATS_PASSWORD/);
});

wrong('an engine on Cassandra without NATS is rejected', async () => {
  const keyspace = await tables();
  const line = await complaintOf(['engine'], on(keyspace.name));
  assert.match(line, /^configuration: SERVICE_NATS_URL is not set: /);
});

wrong('a process on NATS without the cluster’s secret is rejected', async () => {
  const keyspace = await tables();
  const { SERVICE_CLUSTER_SECRET: _, ...without } = on(keyspace.name);
  for (const argv of [['engine'], ['limiter'], ['edge']]) {
    const line = await complaintOf(argv, { ...without, SERVICE_NATS_URL: nats.address });
    assert.match(line, /^configuration: SERVICE_CLUSTER_SECRET: .* need the same secret$/);
  }
  const ctl = await complaintOf(['ctl', 'nodes'], { ...without, SERVICE_NATS_URL: nats.address });
  assert.match(ctl, /SERVICE_CLUSTER_SECRET|has ever owned a shard/);
});

wrong('an unreachable NATS server is named', async () => {
  const keyspace = await tables();
  const line = await complaintOf(
    ['engine'],
    on(keyspace.name, { SERVICE_NATS_URL: `nats://${UNUSED}` }),
  );
  assert.match(line, /nats:\/\/127\.0\.0\.1:9/);
});

const strangers = nats.suite('when another cluster uses the same NATS subjects');

strangers('messages of the other cluster are ignored, and a log line reports this', async () => {
  if (cassandra.address === '') return;
  await using keyspace = await openMigratedKeyspace(cassandra.address);
  const prefix = keyspace.name;
  const onBug = (error: unknown) => assert.unreachable(String(error));
  const common = { clock: systemClock, onBug, logger: SILENT };
  const plain = await openNatsBus({ servers: [nats.address], name: 'stranger', ...common });
  const bus = signedBus({
    ...{ ...common, bus: plain, secrets: unchanging([SECRET]), cluster: 'other' },
    ...{ incarnation: 'f'.repeat(32), onDropped: () => undefined },
  });
  await using _ = bus;
  const place = { SERVICE_NATS_URL: nats.address, SERVICE_NATS_PREFIX: prefix };
  const run = runMain(['engine'], on(keyspace.name, { ...place, SERVICE_LOG_LEVEL: 'warn' }));
  await run.says(/engine is ready/);
  const stranger: Heartbeat = {
    ...{ cluster: 'other', service: 'engine', node: 'x', incarnation: 'x1', address: UNUSED },
    ...{ startedAtMs: 1, isLeaving: false, viewHash: '', shards: [], shardCount: 8 },
  };
  // Repeated like real heartbeats, because a single message may be lost.
  const speak = () => bus.publish(heartbeatSubject(prefix, 'engine'), encodeHeartbeat(stranger));
  using _speaking = every(systemClock, 500, speak);
  await run.says(/"cluster":"other".*ignored another cluster/);
  run.child.kill('SIGTERM');
  assert.is(await run.ended, 0, run.stderr());
});

wrong.after(async () => (await opened)?.[Symbol.asyncDispose]());

for (const group of [unreachable, half, wrong, strangers]) group.run();
