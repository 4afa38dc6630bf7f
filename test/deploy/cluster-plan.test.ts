import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describeVariables, readConfig } from '#config';
import { clusterPlan, PORTS_PER_CLUSTER, STOP_ORDER } from '#deploy/local/cluster-plan';

const plan = suite('the plan of a local cluster');

for (const [engines, edges] of [
  [3, 2],
  [1, 1],
  [20, 10],
] as const) {
  plan(
    `of ${engines} engines and ${edges} edges takes no port twice and stays in its block`,
    () => {
      const { processes } = clusterPlan({ folder: '/nowhere', ports: 8_400, engines, edges });
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

plan('is two edges, three engines and a limiter before NATS and Cassandra', () => {
  const { processes } = clusterPlan({ folder: '/nowhere', ports: 8_400 });
  const names = processes.map(({ name }) => name).sort();
  const service = ['edge1', 'edge2', 'engine1', 'engine2', 'engine3', 'limiter1'];
  assert.equal(names, ['balancer', 'cassandra', ...service, 'nats']);
  assert.ok(processes.every(({ kind }) => STOP_ORDER.includes(kind)));
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
  const planned = processes.map(({ name, kind }) => (kind === 'limiter' ? kind : name));
  assert.equal(names.sort(), [...planned, 'migrate'].sort());
});

compose('tells them nothing that the service does not know', () => {
  const known = new Set(describeVariables().map(({ name }) => name));
  const told = [...text.matchAll(/\bSERVICE_\w+/g)].map(([name]) => name);
  assert.ok(told.length > 10);
  for (const name of told) assert.ok(known.has(name), name);
});

compose.run();
