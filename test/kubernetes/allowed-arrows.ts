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

/** Tested fields of a NetworkPolicy. */
export type Policy = {
  readonly podSelector: Selector;
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
};

/** Labels of a pod of the service, which the stores' policies select. */
const servicePod = (component: string) => ({
  namespace: { 'kubernetes.io/metadata.name': 'identity-engine' },
  pod: {
    'app.kubernetes.io/name': 'identity-engine',
    'app.kubernetes.io/component': component,
  },
});

/** Labels of the pods in other namespaces that policies select. */
const ELSEWHERE: Readonly<Record<string, { readonly namespace: Labels; readonly pod: Labels }>> = {
  edge: servicePod('edge'),
  engine: servicePod('engine'),
  limiter: servicePod('limiter'),
  console: servicePod('console'),
  migrate: servicePod('migrate'),
  ctl: servicePod('ctl'),
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

/** Private networks, without which the IPv4 addresses are the internet. */
const PRIVATE = '10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12,192.168.0.0/16';

/**
 * Addresses without a pod, with names: the DNS cache of each host (source: Kubernetes documents),
 * and the internet.
 */
const ADDRESSES: Readonly<Record<string, string>> = {
  '169.254.20.10/32': 'names of the host',
  [`0.0.0.0/0 except ${PRIVATE}`]: 'internet',
  '2000::/3': 'internet by IPv6',
};

/** Selector for peers without a `podSelector`: matches every pod. */
const ALL: Selector = {};

/**
 * All connections that an overlay's policies allow in a direction, as `a -> b:port/protocol`.
 * Throws for unsupported parts of a policy, which might allow more connections.
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
    // Rules of a type outside `policyTypes` have no effect.
    .filter(({ policyTypes }) => policyTypes.includes(type))
    .flatMap((policy) => {
      const own = pods.filter(({ labels }) => selects(policy.podSelector, labels));
      return (policy[direction] ?? []).flatMap((rule) => {
        const peers = rule[side] ?? [];
        assert.ok(peers.length > 0, 'a rule without peers allows every peer');
        const others = peers.flatMap((peer) => namesOf(peer, pods));
        const ports = rule.ports.map(portOf);
        assert.ok(ports.length > 0, 'a rule without ports allows every port');
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

/** Names of the pods that a peer selects. */
function namesOf(
  peer: Peer,
  pods: readonly { readonly name: string; readonly labels: Labels }[],
): readonly string[] {
  const { podSelector = ALL, namespaceSelector, ipBlock } = peer;
  if (ipBlock !== undefined) {
    const { cidr, except } = ipBlock;
    const name = ADDRESSES[except === undefined ? cidr : `${cidr} except ${except.join()}`];
    assert.ok(name !== undefined, JSON.stringify(peer));
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
