import assert from 'node:assert/strict';
import { type Arrow, textOf } from '#test/kubernetes/arrows';
import {
  componentOf,
  type Labels,
  type Manifest,
  ofKind,
  type Selector,
  selects,
  WORKLOADS,
} from '#test/kubernetes/manifest';

type Peer = {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
};

type Port = {
  readonly port: number;
  readonly protocol?: Arrow['protocol'];
  readonly endPort?: number;
};

type Rule = {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports: readonly Port[];
};

/** A NetworkPolicy, as far as tests look at it. */
export type Policy = {
  readonly podSelector: Selector;
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
};

/** A pod of the service, as the policies of the stores see one. */
const ofService = (component: string) => ({
  namespace: { 'kubernetes.io/metadata.name': 'identity-engine' },
  pod: {
    'app.kubernetes.io/name': 'identity-engine',
    'app.kubernetes.io/component': component,
  },
});

/** Pods of other namespaces that arrows name. */
const ELSEWHERE: Readonly<Record<string, { readonly namespace: Labels; readonly pod: Labels }>> = {
  edge: ofService('edge'),
  engine: ofService('engine'),
  limiter: ofService('limiter'),
  console: ofService('console'),
  migrate: ofService('migrate'),
  ctl: ofService('ctl'),
  operator: { namespace: { 'kubernetes.io/metadata.name': 'k8ssandra-operator' }, pod: {} },
  balancer: { namespace: { 'identity-engine/balances': 'true' }, pod: {} },
  prometheus: { namespace: { 'identity-engine/watches': 'true' }, pod: {} },
  names: {
    namespace: { 'kubernetes.io/metadata.name': 'kube-system' },
    pod: { 'k8s-app': 'kube-dns' },
  },
  'names of OpenShift': {
    namespace: { 'kubernetes.io/metadata.name': 'openshift-dns' },
    pod: { 'dns.operator.openshift.io/daemonset-dns': 'default' },
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

/** Addresses that no pod has. The one of the cache is fixed by the documentation of Kubernetes. */
const ADDRESSES: Readonly<Record<string, string>> = { '169.254.20.10/32': 'names of the host' };

/** The other end of a rule's way, by selectors that would let in all: they name nothing. */
const ALL: Selector = {};

/**
 * All that the policies of an overlay let pods do, as `a -> b:port/protocol`, in one direction. Throws
 * for what a policy can say that is not understood here, because it would open more than is seen.
 */
export function allowedArrows(
  manifests: readonly Manifest[],
  direction: 'ingress' | 'egress',
): string[] {
  const pods = ofKind(manifests, ...WORKLOADS).map((each) => {
    return { name: componentOf(each), labels: each.spec.template.metadata.labels };
  });
  const [side, type] =
    direction === 'ingress' ? (['from', 'Ingress'] as const) : (['to', 'Egress'] as const);
  const policies = ofKind(manifests, 'NetworkPolicy').map(({ spec }) => spec as unknown as Policy);
  const arrows = policies
    // Rules of a type that a policy does not name have no effect.
    .filter(({ policyTypes }) => policyTypes.includes(type))
    .flatMap((policy) => {
      const own = pods.filter(({ labels }) => selects(policy.podSelector, labels));
      return (policy[direction] ?? []).flatMap((rule) => {
        const peers = rule[side] ?? [];
        assert.ok(peers.length > 0, 'a rule without peers is open to all');
        const others = peers.flatMap((peer) => namesOf(peer, pods));
        const ports = rule.ports.map(portOf);
        assert.ok(ports.length > 0, 'a rule without ports is open at all');
        return own.flatMap(({ name }) =>
          others.flatMap((other) =>
            ports.map((port) => {
              return side === 'from'
                ? { from: other, to: name, ...port }
                : { from: name, to: other, ...port };
            }),
          ),
        );
      });
    });
  return [...new Set(arrows.map(textOf))].toSorted();
}

/** Whom a peer means, by the names of arrows. */
function namesOf(
  peer: Peer,
  pods: readonly { readonly name: string; readonly labels: Labels }[],
): readonly string[] {
  const { podSelector = ALL, namespaceSelector, ipBlock } = peer;
  if (ipBlock !== undefined) {
    const name = ADDRESSES[ipBlock.cidr];
    assert.ok(name !== undefined && ipBlock.except === undefined, JSON.stringify(peer));
    return [name];
  }
  if (namespaceSelector === undefined) {
    return pods.filter(({ labels }) => selects(podSelector, labels)).map(({ name }) => name);
  }
  const found = Object.entries(ELSEWHERE).filter(
    ([, { namespace, pod }]) => selects(namespaceSelector, namespace) && selects(podSelector, pod),
  );
  assert.ok(found.length > 0, JSON.stringify(peer));
  return found.map(([name]) => name);
}

function portOf(given: Port): Pick<Arrow, 'port' | 'protocol'> {
  const { port, protocol = 'TCP', endPort } = given;
  assert.ok(typeof port === 'number' && endPort === undefined, JSON.stringify(given));
  return { port, protocol };
}
