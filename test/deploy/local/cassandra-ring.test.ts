import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '#config';
import { clusterPlan, PORTS_PER_CLUSTER, processFolder } from '#deploy/local/cluster-plan';
import { addressOf } from '#deploy/local/processes/readiness';
import { javaOptions } from '#deploy/local/servers/cassandra-options';
import { assertSameNodeCount, ringOf } from '#deploy/local/servers/cassandra-ring';
import { localCassandraSettings } from '#deploy/local/servers/cassandra-settings';
import { assertPortFree } from '#deploy/local/servers/free-port';
import { refusalOf } from '#test/support/settled';

const SIZE = { folder: '/nowhere', ports: 8_400 };

/** Cassandra processes of a plan. */
function cassandrasOf(cassandraNodes?: number) {
  const plan = clusterPlan({ ...SIZE, cassandraNodes });
  return { plan, nodes: plan.processes.filter(({ kind }) => kind === 'cassandra') };
}

const one = suite('a plan with a single Cassandra node');

one('uses the name cassandra and one replica', () => {
  const { plan, nodes } = cassandrasOf();
  assert.equal(cassandrasOf(1), { plan, nodes });
  assert.equal(
    nodes.map(({ name }) => name),
    ['cassandra'],
  );
  for (const node of nodes) assert.is(ringOf(node, plan), undefined);
  assert.is(plan.shared['SERVICE_CASSANDRA_CONTACT_POINTS'], '127.0.0.1:8403');
  assert.is(readConfig({ ...plan.shared }).SERVICE_CASSANDRA_REPLICATION_FACTOR, 1);
});

one('starts without waiting for other nodes', () => {
  const settings = localCassandraSettings({
    host: '127.0.0.1',
    cql: 1,
    storage: 2,
    ring: undefined,
  });
  assert.is(settings['initial_token'], undefined);
  assert.match(JSON.stringify(settings['seed_provider']), '"seeds":"127.0.0.1:2"');
  assert.match(optionsOf(false), 'skip_wait_for_gossip_to_settle=0');
});

one.run();

const three = suite('a plan with three Cassandra nodes');

three('uses three addresses and the same ports', () => {
  const { plan, nodes } = cassandrasOf(3);
  const shown = nodes.map((node) => `${node.name} ${addressOf(node)}`);
  assert.equal(shown, [
    'cassandra1 127.0.0.1:8403',
    'cassandra2 127.0.0.2:8403',
    'cassandra3 127.0.0.3:8403',
  ]);
  const others = plan.processes.filter(({ kind }) => kind !== 'cassandra');
  const taken = new Set(others.flatMap(({ port, operatorsPort }) => [port, operatorsPort]));
  for (const { port, otherPorts = [] } of nodes) {
    assert.is(otherPorts.length, 1);
    for (const each of [port, ...otherPorts]) {
      assert.not.ok(taken.has(each), `${each}`);
      assert.ok(each >= SIZE.ports && each < SIZE.ports + PORTS_PER_CLUSTER, `${each}`);
    }
  }
});

three('gives the service the addresses of all nodes, and a replica on each node', () => {
  const config = readConfig({ ...cassandrasOf(3).plan.shared });
  assert.is(config.SERVICE_CASSANDRA_REPLICATION_FACTOR, 3);
  const points = ['127.0.0.1:8403', '127.0.0.2:8403', '127.0.0.3:8403'];
  assert.equal(config.SERVICE_CASSANDRA_CONTACT_POINTS, points);
});

three('splits the ring evenly, with all nodes as seeds', () => {
  const { plan, nodes } = cassandrasOf(3);
  const settings = nodes.map((node) => {
    const { host = '', hosts = [], storagePort = 0 } = ringOf(node, plan) ?? {};
    const place = { host, cql: node.port, storage: storagePort, ring: hosts };
    return localCassandraSettings(place);
  });
  const tokens = settings.map((each) => BigInt(`${each['initial_token']}`));
  const third = 2n ** 64n / 3n;
  assert.equal(
    tokens.map((token) => token + 2n ** 63n),
    [0n, third, 2n * third],
  );
  const seeds = '"seeds":"127.0.0.1:8404,127.0.0.2:8404,127.0.0.3:8404"';
  for (const each of settings) {
    assert.is(each['auto_bootstrap'], false);
    assert.match(JSON.stringify(each['seed_provider']), seeds);
  }
  assert.equal(
    settings.map((each) => each['listen_address']),
    nodes.map(({ host }) => host),
  );
});

three('makes nodes wait for gossip, and load their ring state', () => {
  assert.not.match(optionsOf(true), 'load_ring_state=false');
  assert.not.match(optionsOf(true), 'skip_wait_for_gossip_to_settle');
});

three('is rejected with an external Cassandra, and so is a plan with two nodes', async () => {
  const two = await refusalOf(async () => cassandrasOf(2));
  assert.is(two.message, 'a cluster has 1 or 3 Cassandra nodes, not 2');
  const size = { ...SIZE, cassandraNodes: 3, cassandra: '10.0.0.1:9042' };
  const named = await refusalOf(async () => clusterPlan(size));
  assert.is(
    named.message,
    'CLUSTER_CASSANDRA is 10.0.0.1:9042, so no Cassandra starts here: unset CASSANDRA',
  );
});

three('reports a missing loopback address', async () => {
  const { message } = await refusalOf(() => assertPortFree(1, 'cassandra2', '192.0.2.1'));
  assert.match(message, /^cassandra2: this machine has no address 192\.0\.2\.1; /);
});

three.run();

const kept = suite('a cluster folder');

for (const [stored, name, other, words] of [
  [1, 'cassandra', 3, '1 Cassandra node, but the cluster has 3 Cassandra nodes'],
  [3, 'cassandra1', 1, '3 Cassandra nodes, but the cluster has 1 Cassandra node'],
] as const) {
  kept(
    `with data of ${stored} Cassandra nodes accepts ${stored} nodes, and refuses ${other}`,
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'identity-engine-ring-'));
      try {
        const size = { ...SIZE, folder };
        for (const count of [1, 3]) assertSameNodeCount({ ...size, cassandraNodes: count });
        mkdirSync(join(processFolder(folder, name), 'state'), { recursive: true });
        assertSameNodeCount({ ...size, cassandraNodes: stored });
        const { message } = await refusalOf(async () =>
          assertSameNodeCount({ ...size, cassandraNodes: other }),
        );
        const advice = `use CASSANDRA=${stored}, or another CLUSTER_FOLDER`;
        assert.is(message, `${folder} has the data of ${words}: ${advice}`);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
}

kept.run();

function optionsOf(isOneOfSeveral: boolean): string {
  const files = { yaml: '/y', logback: '/l', state: '/s' };
  return javaOptions({ ...files, heapMb: 1, isOneOfSeveral, isThrownAway: false }).join(' ');
}
