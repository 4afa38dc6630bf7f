import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { allowedArrows, type Policy } from '#test/kubernetes/allowed-arrows';
import { ARROWS, type Arrow, textOf } from '#test/kubernetes/arrows';
import { type Labels, type Manifest, manifestsIn, OVERLAYS } from '#test/kubernetes/manifest';

const FOLDER = 'deploy/kubernetes';
const policies = manifestsIn(readFileSync(`${FOLDER}/stores/network-policies.yaml`, 'utf8'));

/** Labels of the pods that operator and chart create. */
const PODS: Readonly<Record<string, Labels>> = {
  nats: { 'app.kubernetes.io/name': 'nats' },
  cassandra: { 'cassandra.datastax.com/cluster': 'cassandra' },
  reaper: { 'k8ssandra.io/reaper': 'cassandra-dc1-reaper' },
};

const pods = Object.entries(PODS).map(([name, labels]) => ({
  apiVersion: 'v1',
  kind: 'Deployment',
  metadata: { name, labels: { 'app.kubernetes.io/component': name } },
  spec: { template: { metadata: { labels }, spec: { containers: [] } } },
})) satisfies Manifest[];

/** Additional connections of the stores. Source: documentation of the operator and the chart. */
const STORE_ARROWS: readonly Arrow[] = [
  { from: 'nats', to: 'nats', port: 6_222 },
  { from: 'cassandra', to: 'cassandra', port: 7_000 },
  { from: 'cassandra', to: 'cassandra', port: 7_001 },
  ...[9_042, 8_080, 7_199].map((port) => ({ from: 'reaper', to: 'cassandra', port })),
  { from: 'operator', to: 'cassandra', port: 8_080 },
  { from: 'operator', to: 'cassandra', port: 50_051 },
  { from: 'operator', to: 'reaper', port: 8_080 },
  { from: 'prometheus', to: 'nats', port: 7_777 },
  { from: 'prometheus', to: 'cassandra', port: 9_000 },
  { from: 'prometheus', to: 'cassandra', port: 9_103 },
];

const network = suite("the network of production's stores");

network('denies all incoming traffic of every pod by default', () => {
  const [first] = policies;
  assert.equal(first?.spec, { podSelector: {}, policyTypes: ['Ingress'] });
});

network("allows exactly the architecture's connections and the connections of the stores", () => {
  const toStores = ARROWS.filter(({ to }) => ['nats', 'cassandra'].includes(to));
  assert.equal(
    allowedArrows([...pods, ...policies], 'ingress'),
    [...toStores, ...STORE_ARROWS].map(textOf).toSorted(),
  );
});

network("admits the service's namespaces, and applies to the stores' namespace", () => {
  const inProduction = OVERLAYS.filter((overlay) => overlay !== 'local').map(
    (overlay) =>
      parse(readFileSync(`${FOLDER}/overlays/${overlay}/kustomization.yaml`, 'utf8')).namespace,
  );
  const own = parse(readFileSync(`${FOLDER}/stores/namespace.yaml`, 'utf8')).metadata.name;
  const named = policies.flatMap(({ spec }) =>
    ((spec as unknown as Policy).ingress ?? []).flatMap(({ from = [] }) =>
      from.flatMap(({ namespaceSelector }) => namespaceSelector?.matchExpressions ?? []),
    ),
  );
  assert.is(named.length, 2);
  for (const { values } of named) assert.equal(values?.toSorted(), inProduction.toSorted());
  for (const { metadata } of policies) assert.is(metadata.namespace, own, metadata.name);
});

network.run();
