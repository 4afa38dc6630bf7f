import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { readConfig } from '#config';
import { allowedArrows, type Policy } from '#test/kubernetes/allowed-arrows';
import { ARROWS, NAMES, roleArrows, textOf } from '#test/kubernetes/arrows';
import { OVERLAY_MANIFESTS, suite } from '#test/kubernetes/kustomize';
import {
  componentOf,
  type Manifest,
  ofKind,
  ownWorkloads,
  SERVING,
  WORKLOADS,
} from '#test/kubernetes/manifest';

const TRACES = 'deploy/kubernetes/components/traces';

const roles = suite("the architecture's connections");

roles('between processes equal the connections that mutual TLS allows', () => {
  const services = ['engine', 'limiter', 'courier'];
  const between = ARROWS.filter(({ to, port }) => services.includes(to) && port !== 9_464);
  assert.equal(between.map(textOf).toSorted(), roleArrows().map(textOf).toSorted());
});

roles('include the trace collector if the component `traces` is added', () => {
  const read = (file: string) => parse(readFileSync(`${TRACES}/${file}`, 'utf8'));
  const [{ literals }] = read('kustomization.yaml').configMapGenerator;
  const settings = literals.map((pair: string) => pair.split('='));
  const { SERVICE_OTLP_ENDPOINT: endpoint } = readConfig(Object.fromEntries(settings));
  const { port, hostname } = new URL(endpoint ?? '');
  const { podSelector, egress } = read('network-policy.yaml').spec as Policy;
  assert.equal(podSelector.matchExpressions, [
    { key: 'app.kubernetes.io/component', operator: 'In', values: ['edge', 'engine', 'limiter'] },
  ]);
  const namespace = { 'kubernetes.io/metadata.name': hostname.split('.')[1] };
  const to = [{ namespaceSelector: { matchLabels: namespace } }];
  assert.equal(egress, [{ to, ports: [{ port: Number(port) }] }]);
});

roles.run();

const reading = suite('the parser of network policies');

/** Incoming connections that a policy with this rule allows for pod `edge`. */
function arrowsIn(rule: object, more: object = {}): string[] {
  const labels = { 'app.kubernetes.io/component': 'edge' };
  const template = { metadata: { labels }, spec: { containers: [] } };
  const spec = { podSelector: {}, policyTypes: ['Ingress'], ingress: [rule], ...more };
  const named = (kind: string, content: object) =>
    ({ apiVersion: '', kind, metadata: { name: 'edge', labels }, spec: content }) as Manifest;
  const manifests = [named('Deployment', { template }), named('NetworkPolicy', spec)];
  return allowedArrows(manifests, 'ingress');
}

const from = [{ podSelector: {} }];

reading('reads the protocol, TCP by default', () => {
  const ports = [{ port: 1 }, { port: 2, protocol: 'UDP' }];
  assert.equal(arrowsIn({ from, ports }), ['edge -> edge:1/TCP', 'edge -> edge:2/UDP']);
});

reading('ignores rules of a direction outside `policyTypes`', () => {
  assert.equal(arrowsIn({ from, ports: [{ port: 1 }] }, { policyTypes: ['Egress'] }), []);
});

for (const [operator, values, count] of [
  ['In', ['edge'], 1],
  ['In', ['engine'], 0],
  ['NotIn', ['edge'], 0],
  ['NotIn', ['engine'], 1],
  ['Exists', undefined, 1],
  ['DoesNotExist', undefined, 0],
] as const) {
  reading(`evaluates the operator ${operator} ${values ?? ''}`, () => {
    const expression = { key: 'app.kubernetes.io/component', operator, values };
    const peer = { podSelector: { matchExpressions: [expression] } };
    assert.is(arrowsIn({ from: [peer], ports: [{ port: 1 }] }).length, count);
  });
}

for (const [what, rule] of [
  ['every peer', { ports: [{ port: 1 }] }],
  ['an empty list of peers', { from: [], ports: [{ port: 1 }] }],
  ['every port', { from }],
  ['a range of ports', { from, ports: [{ port: 1, endPort: 9 }] }],
  ['unknown addresses', { from: [{ ipBlock: { cidr: '10.0.0.0/8' } }], ports: [] }],
] as const) {
  reading(`rejects a rule for ${what}`, () => {
    assert.throws(() => arrowsIn(rule));
  });
}

reading.run();

for (const [overlay, manifests] of OVERLAY_MANIFESTS) {
  const policies = suite(`the network of overlay ${overlay}`);
  const own = [...SERVING, 'migrate', 'ctl'];
  const here = ofKind(manifests, ...WORKLOADS).map(componentOf);
  const wanted = (isHere: (name: string) => boolean, side: 'from' | 'to') =>
    ARROWS.filter((arrow) => isHere(arrow[side])).map(textOf);

  policies('denies all traffic by default, in both directions', () => {
    const closing = ofKind(manifests, 'NetworkPolicy')
      .map(({ spec }) => spec as unknown as Policy)
      .filter(({ podSelector }) => Object.keys(podSelector).length === 0)
      .filter(({ ingress, egress }) => ingress === undefined && egress === undefined);
    assert.equal(
      closing.map(({ policyTypes }) => policyTypes),
      [['Ingress', 'Egress']],
    );
  });

  policies("allows exactly the architecture's incoming connections", () => {
    assert.equal(
      allowedArrows(manifests, 'ingress'),
      wanted((name) => here.includes(name), 'to').toSorted(),
    );
  });

  policies("allows exactly the architecture's outgoing connections, and DNS", () => {
    const names = here.flatMap((from) => NAMES.map((arrow) => textOf({ from, ...arrow })));
    const arrows = wanted((name) => here.includes(name), 'from');
    assert.equal(allowedArrows(manifests, 'egress'), [...arrows, ...names].toSorted());
    assert.equal(ownWorkloads(manifests).map(componentOf).toSorted(), own.toSorted());
  });

  policies.run();
}
