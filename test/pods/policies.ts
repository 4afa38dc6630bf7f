import { ARROWS, type Arrow, textOf } from '#test/kubernetes/arrows';
import type { PodCluster } from '#test/pods/cluster';
import { NAMESPACE } from '#test/pods/installation';
import { STORES_NAMESPACE } from '#test/pods/stores';

/** Where the pods of an end of a connection are, and how to find them. */
type Place = { readonly namespace: string; readonly selector: string };

const service = (component: string): Place => ({
  namespace: NAMESPACE,
  selector: `app.kubernetes.io/component=${component}`,
});

/** Ends of connections. `stranger` is a pod of a namespace that no policy admits. */
const PLACES: Readonly<Record<string, Place>> = {
  ...Object.fromEntries(
    ['edge', 'engine', 'limiter', 'courier', 'console', 'ctl'].map((name) => [name, service(name)]),
  ),
  balancer: { namespace: 'ingress', selector: 'app=caller' },
  prometheus: { namespace: 'monitoring', selector: 'app=caller' },
  stranger: { namespace: 'stranger', selector: 'app=caller' },
  nats: { namespace: STORES_NAMESPACE, selector: 'app.kubernetes.io/name=nats' },
  cassandra: {
    namespace: STORES_NAMESPACE,
    selector: 'cassandra.datastax.com/cluster=cassandra',
  },
};

/** Pods that can run a program of Node.js. */
const CALLERS = Object.keys(PLACES).filter((name) => name !== 'nats' && name !== 'cassandra');

/** Open ports of each end. Others refuse every connection. */
const TARGETS: readonly Omit<Arrow, 'from'>[] = [
  ...new Map(
    ARROWS.filter(({ to }) => to in PLACES).map(({ to, port }) => [`${to}:${port}`, { to, port }]),
  ).values(),
];

/** Time for a connection in ms. A policy that drops packets lets an attempt wait as long. */
const CONNECT_MS_MAX = 2_000;

/** A tried connection. */
export type Tried = Arrow & { readonly isAllowed: boolean; readonly isOpen: boolean };

/**
 * Tries to connect each pod with each port. Every attempt is a new connection, because policies do
 * not end established connections.
 */
export async function tryConnections(cluster: PodCluster): Promise<readonly Tried[]> {
  const pods = new Map<string, readonly Pod[]>();
  for (const name of Object.keys(PLACES)) pods.set(name, await podsOf(cluster, name));
  const allowed = new Set(ARROWS.map(textOf));
  const tried: Tried[] = [];
  for (const from of CALLERS) {
    const [caller] = pods.get(from) ?? [];
    // The last pod, so that pods of a component also try each other. A policy does not apply to a
    // pod that calls itself.
    const targets = TARGETS.map(({ to, port }) => ({ to, port, pod: pods.get(to)?.at(-1) })).filter(
      ({ pod }) => pod?.address !== caller?.address,
    );
    const places = targets.map(({ pod, port }) => [pod?.address ?? '', port]);
    const script = `const targets = ${JSON.stringify(places)};${CONNECTING}`;
    const { namespace } = placeOf(from);
    const name = caller?.name ?? '';
    const command = ['exec', name, '--', 'node', '--eval', script];
    const answer = await cluster.objects.kubectl(['-n', namespace, ...command]);
    const isOpen = JSON.parse(answer) as readonly boolean[];
    for (const [index, { to, port }] of targets.entries()) {
      const arrow = { from, to, port };
      tried.push({
        ...arrow,
        isAllowed: allowed.has(textOf(arrow)),
        isOpen: isOpen[index] === true,
      });
    }
  }
  return tried;
}

/** Connects to all targets at once, and prints a list of successes. */
const CONNECTING = `
Promise.all(targets.map(([host, port]) => new Promise((resolve) => {
  const socket = require('node:net').connect({ host, port, timeout: ${CONNECT_MS_MAX} });
  const end = (isOpen) => { socket.destroy(); resolve(isOpen); };
  socket.on('connect', () => end(true)).on('error', () => end(false)).on('timeout', () => end(false));
}))).then((open) => console.log(JSON.stringify(open)));`;

function placeOf(name: string): Place {
  const place = PLACES[name];
  if (place === undefined) throw new Error(`there are no pods of ${name}`);
  return place;
}

/** A pod. */
type Pod = { readonly name: string; readonly address: string };

async function podsOf({ objects }: PodCluster, name: string): Promise<readonly Pod[]> {
  const { namespace, selector } = placeOf(name);
  const args = ['-n', namespace, 'get', 'pods', '--selector', selector];
  const output = '--output=jsonpath={range .items[*]}{.metadata.name} {.status.podIP}{"\\n"}{end}';
  const lines = (await objects.kubectl([...args, output])).trim().split('\n');
  return lines.map((line) => {
    const [pod = '', address = ''] = line.split(' ');
    if (address === '') throw new Error(`no pod of ${name} has an address`);
    return { name: pod, address };
  });
}
