import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '#config';
import {
  type ClusterPlan,
  clusterPlan,
  nextNode,
  PORTS_PER_CLUSTER,
  planWith,
  planWithout,
  STOP_ORDER,
} from '#deploy/local/cluster-plan';

const plan = suite('the plan of a local cluster');

for (const [engines, edges, limiters, consoles] of [
  [3, 2, 2, 2],
  [1, 1, 1, 0],
  [20, 10, 5, 4],
] as const) {
  plan(
    `uses distinct ports in its block: ${engines} engines, ${edges} edges, ${limiters} limiters, ${consoles} consoles`,
    () => {
      const size = { folder: '/nowhere', ports: 8_400, engines, edges, limiters, consoles };
      const { processes } = clusterPlan(size);
      const ports = processes.flatMap(({ port, operatorsPort, otherPorts = [] }) => [
        port,
        ...(operatorsPort === undefined ? [] : [operatorsPort]),
        ...otherPorts,
      ]);
      assert.is(new Set(ports).size, ports.length);
      for (const port of ports) {
        assert.ok(port >= 8_400 && port < 8_400 + PORTS_PER_CLUSTER, `${port}`);
      }
    },
  );
}

plan('has two edges, three engines, two couriers, two limiters, two consoles and stores', () => {
  const { processes } = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  const names = processes.map(({ name }) => name).sort();
  const service = ['edge1', 'edge2', 'engine1', 'engine2', 'engine3', 'limiter1', 'limiter2'];
  const besides = ['balancer', 'cassandra', 'console1', 'console2', 'courier1', 'courier2'];
  assert.equal(names, [...besides, ...service, 'nats']);
  assert.ok(processes.every(({ kind }) => STOP_ORDER.includes(kind)));
});

plan("has a single balancer for edges and consoles, and shares the console's address", () => {
  const { processes, address, consoleAddress, shared } = clusterPlan({ folder: '/', ports: 8_400 });
  const entrances = processes.flatMap((planned) => planned.entrances ?? []);
  assert.equal(
    entrances.map(({ port, kind }) => [`http://127.0.0.1:${port}`, kind]),
    [
      [address, 'edge'],
      [consoleAddress, 'console'],
    ],
  );
  assert.is(shared['SERVICE_CONSOLE_ORIGIN'], consoleAddress);
  const consoles = processes.filter(({ kind }) => kind === 'console');
  for (const { port, variables } of consoles) {
    assert.is(variables['SERVICE_CONSOLE_PORT'], `${port}`);
    assert.is.not(`http://127.0.0.1:${port}`, consoleAddress);
    assert.is(variables['SERVICE_API_URL'], `${address}/v1`);
  }
});

plan('has no console port without consoles', () => {
  const { processes } = clusterPlan({ folder: '/nowhere', ports: 8_400, consoles: 0 });
  const balancer = processes.find(({ kind }) => kind === 'balancer');
  assert.equal(balancer?.entrances, [{ port: 8_400, kind: 'edge' }]);
  assert.is(balancer?.otherPorts, undefined);
});

plan("has a name for every node, and a limiter's admin URL", () => {
  const { processes, adminUrl } = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  const nodes = processes.filter(({ kind }) => kind === 'engine' || kind === 'limiter');
  assert.is(nodes.length, 5);
  for (const { name, variables } of nodes) assert.is(variables['SERVICE_NODE_NAME'], name);
  const limiter = processes.find(({ name }) => name === 'limiter1');
  assert.is(adminUrl, `http://127.0.0.1:${limiter?.variables['SERVICE_ADMIN_PORT']}`);
  assert.equal(limiter?.otherPorts, [Number(limiter?.variables['SERVICE_ADMIN_PORT'])]);
});

plan('has only variables that the service accepts', () => {
  const { processes, shared } = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  for (const { variables } of processes) readConfig({ ...shared, ...variables });
});

plan.run();

const changed = suite('when nodes join or leave a local cluster');

const namesOf = ({ processes }: ClusterPlan, kind: string) =>
  processes.filter((planned) => planned.kind === kind).map(({ name }) => name);

changed('a new node equals the node with the same number in a larger plan', () => {
  const size = { folder: '/nowhere', ports: 8_400 };
  const larger = clusterPlan({ ...size, engines: 4, limiters: 3 });
  for (const [kind, name] of [
    ['engine', 'engine4'],
    ['limiter', 'limiter3'],
  ] as const) {
    const planned = nextNode(clusterPlan(size), kind);
    assert.is(planned.name, name);
    assert.equal(
      planned,
      larger.processes.find((each) => each.name === name),
    );
  }
});

changed('the plan has the current nodes, and the admin URL of a current limiter', () => {
  const before = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  const joined = planWith(before, nextNode(before, 'limiter'));
  assert.equal(namesOf(joined, 'limiter'), ['limiter1', 'limiter2', 'limiter3']);
  assert.is(joined.adminUrl, before.adminUrl);
  const left = planWithout(planWithout(joined, 'limiter1'), 'limiter2');
  assert.equal(namesOf(left, 'limiter'), ['limiter3']);
  const [limiter] = left.processes.filter(({ kind }) => kind === 'limiter');
  assert.is(left.adminUrl, `http://127.0.0.1:${limiter?.variables['SERVICE_ADMIN_PORT']}`);
  assert.is(left.processes.length, before.processes.length - 1);
});

changed('the last process of a kind cannot leave', () => {
  const single = clusterPlan({ folder: '/nowhere', ports: 8_400, limiters: 1 });
  for (const name of ['limiter1', 'cassandra', 'balancer']) {
    assert.throws(() => planWithout(single, name), new RegExp(`^${name} cannot leave: `));
  }
});

changed('a node without free ports in the block cannot join', () => {
  const size = { folder: '/nowhere', ports: 8_400, engines: 20, limiters: 4 };
  const full = clusterPlan(size);
  assert.throws(() => nextNode(full, 'engine'), /^no ports are left for engine21$/);
  assert.throws(() => nextNode(full, 'limiter'), /^no ports are left for limiter5$/);
});

changed.run();
