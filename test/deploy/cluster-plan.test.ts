import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describeVariables, readConfig } from '#config';
import { clusterPlan, PORTS_PER_CLUSTER, STOP_ORDER } from '#deploy/local/cluster-plan';

const plan = suite('the plan of a local cluster');

for (const [engines, edges, limiters] of [
  [3, 2, 2],
  [1, 1, 1],
  [20, 10, 5],
] as const) {
  plan(
    `of ${engines} engines, ${edges} edges and ${limiters} limiters takes no port twice and stays in its block`,
    () => {
      const size = { folder: '/nowhere', ports: 8_400, engines, edges, limiters };
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

plan('is two edges, three engines and two limiters before NATS and Cassandra', () => {
  const { processes } = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  const names = processes.map(({ name }) => name).sort();
  const service = ['edge1', 'edge2', 'engine1', 'engine2', 'engine3', 'limiter1', 'limiter2'];
  assert.equal(names, ['balancer', 'cassandra', ...service, 'nats']);
  assert.ok(processes.every(({ kind }) => STOP_ORDER.includes(kind)));
});

plan('names every node, and the admin port of a limiter', () => {
  const { processes, adminUrl } = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  const nodes = processes.filter(({ kind }) => kind === 'engine' || kind === 'limiter');
  assert.is(nodes.length, 5);
  for (const { name, variables } of nodes) assert.is(variables['SERVICE_NODE_NAME'], name);
  const limiter = processes.find(({ name }) => name === 'limiter1');
  assert.is(adminUrl, `http://127.0.0.1:${limiter?.variables['SERVICE_ADMIN_PORT']}`);
  assert.equal(limiter?.otherPorts, [Number(limiter?.variables['SERVICE_ADMIN_PORT'])]);
});

plan('has variables that the service takes', () => {
  const { processes, shared } = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  for (const { variables } of processes) readConfig({ ...shared, ...variables });
});

plan.run();

const compose = suite('deploy/compose.yaml');
const text = readFileSync('deploy/compose.yaml', 'utf8');

compose('has the processes of the plan', () => {
  const services = text.slice(text.indexOf('\nservices:'), text.indexOf('\nvolumes:'));
  const names = [...services.matchAll(/^ {2}(\w+):/gm)].map(([, name = '']) => name);
  const { processes } = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  const planned = processes.map(({ name }) => name);
  assert.equal(names.sort(), [...planned, 'migrate'].sort());
});

compose('tells them nothing that the service does not know', () => {
  const known = new Set(describeVariables().map(({ name }) => name));
  const told = [...text.matchAll(/\bSERVICE_\w+/g)].map(([name]) => name);
  assert.ok(told.length > 10);
  for (const name of told) assert.ok(known.has(name), name);
});

compose.run();
