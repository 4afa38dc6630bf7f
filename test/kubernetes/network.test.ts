import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { readConfig } from '#config';
import { ARROWS, arrowsOfRoles, textOf } from '#test/kubernetes/arrows';
import { OVERLAY_MANIFESTS, suite } from '#test/kubernetes/kustomize';
import {
  componentOf,
  type Labels,
  type Manifest,
  ofKind,
  ownWorkloads,
  type Selector,
  selects,
  WORKLOADS,
} from '#test/kubernetes/manifest';

type Peer = { readonly podSelector?: Selector; readonly namespaceSelector?: Selector };
type Rule = {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports: readonly { readonly port: number }[];
};
type Policy = {
  readonly podSelector: Selector;
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
};

const TRACES = 'deploy/kubernetes/components/traces';

/** Pods of other namespaces that arrows name. */
const ELSEWHERE: Readonly<Record<string, { readonly namespace: Labels; readonly pod: Labels }>> = {
  balancer: { namespace: { 'identity-engine/balances': 'true' }, pod: {} },
  prometheus: { namespace: { 'identity-engine/watches': 'true' }, pod: {} },
  names: {
    namespace: { 'kubernetes.io/metadata.name': 'kube-system' },
    pod: { 'k8s-app': 'kube-dns' },
  },
  nats: {
    namespace: { 'kubernetes.io/metadata.name': 'identity-engine-stores' },
    pod: { 'app.kubernetes.io/name': 'nats' },
  },
  cassandra: {
    namespace: { 'kubernetes.io/metadata.name': 'identity-engine-stores' },
    pod: { 'cassandra.datastax.com/cluster': 'cassandra' },
  },
};

/** All that the policies of an overlay let pods do, as `a -> b:port`, in one direction. */
function allowed(manifests: readonly Manifest[], direction: 'ingress' | 'egress'): string[] {
  const pods = ofKind(manifests, ...WORKLOADS).map((each) => {
    return { name: componentOf(each), labels: each.spec.template.metadata.labels };
  });
  const policies = ofKind(manifests, 'NetworkPolicy').map(({ spec }) => spec as unknown as Policy);
  const peersOf = ({ podSelector = {}, namespaceSelector }: Peer): string[] => {
    if (namespaceSelector === undefined) {
      return pods.filter(({ labels }) => selects(podSelector, labels)).map(({ name }) => name);
    }
    const found = Object.entries(ELSEWHERE).filter(
      ([, { namespace, pod }]) =>
        selects(namespaceSelector, namespace) && selects(podSelector, pod),
    );
    assert.is(found.length, 1, JSON.stringify(namespaceSelector));
    return found.map(([name]) => name);
  };
  const arrows = policies.flatMap((policy) =>
    pods
      .filter(({ labels }) => selects(policy.podSelector, labels))
      .flatMap(({ name: own }) =>
        (policy[direction] ?? []).flatMap((rule) =>
          (rule.from ?? rule.to ?? []).flatMap(peersOf).flatMap((other) => {
            const [from, to] = direction === 'ingress' ? [other, own] : [own, other];
            return rule.ports.map(({ port }) => textOf({ from, to, port }));
          }),
        ),
      ),
  );
  return [...new Set(arrows)].toSorted();
}

const roles = suite('the arrows of the architecture');

roles('between processes are those that mutual TLS lets through', () => {
  const services = ['engine', 'limiter'];
  const between = ARROWS.filter(({ to, port }) => services.includes(to) && port !== 9_464);
  assert.equal(between.map(textOf).toSorted(), arrowsOfRoles().map(textOf).toSorted());
});

roles('lead to a collector where the component of traces is added', () => {
  const read = (file: string) => parse(readFileSync(`${TRACES}/${file}`, 'utf8'));
  const [{ literals }] = read('kustomization.yaml').configMapGenerator;
  const settings = literals.map((pair: string) => pair.split('='));
  const { SERVICE_OTLP_ENDPOINT: endpoint } = readConfig(Object.fromEntries(settings));
  const { port, hostname } = new URL(endpoint ?? '');
  const { podSelector, egress } = read('network-policy.yaml').spec as Policy;
  assert.equal(podSelector.matchExpressions?.[0]?.values, ['edge', 'engine', 'limiter']);
  const namespace = { 'kubernetes.io/metadata.name': hostname.split('.')[1] };
  const to = [{ namespaceSelector: { matchLabels: namespace } }];
  assert.equal(egress, [{ to, ports: [{ port: Number(port) }] }]);
});

roles.run();

for (const [overlay, manifests] of OVERLAY_MANIFESTS) {
  const policies = suite(`the network of the overlay ${overlay}`);
  const own = ['edge', 'engine', 'limiter', 'migrate', 'ctl'];
  const here = ofKind(manifests, ...WORKLOADS).map(componentOf);
  const wanted = (isHere: (name: string) => boolean, side: 'from' | 'to') =>
    ARROWS.filter((arrow) => isHere(arrow[side])).map(textOf);

  policies('is closed for every pod, in both directions, where no policy opens it', () => {
    const closing = ofKind(manifests, 'NetworkPolicy')
      .map(({ spec }) => spec as unknown as Policy)
      .filter(({ podSelector }) => Object.keys(podSelector).length === 0)
      .filter(({ ingress, egress }) => ingress === undefined && egress === undefined);
    assert.equal(
      closing.map(({ policyTypes }) => policyTypes),
      [['Ingress', 'Egress']],
    );
  });

  policies('lets exactly the arrows of the architecture in', () => {
    assert.equal(
      allowed(manifests, 'ingress'),
      wanted((name) => here.includes(name), 'to').toSorted(),
    );
  });

  policies('lets exactly the arrows of the architecture out, and questions for names', () => {
    const names = here.map((from) => textOf({ from, to: 'names', port: 53 }));
    const arrows = wanted((name) => here.includes(name), 'from');
    assert.equal(allowed(manifests, 'egress'), [...arrows, ...names].toSorted());
    assert.equal(ownWorkloads(manifests).map(componentOf).toSorted(), own.toSorted());
  });

  policies.run();
}
