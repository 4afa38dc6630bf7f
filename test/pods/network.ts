import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { outputOf } from '#deploy/local/processes/run-program';

/*
 * Network of the nodes on this machine: a bridge, and a network namespace for each node. A veth
 * pair is the network cable of a node. Needs root.
 */

/** Bridge between the nodes and this machine. */
const BRIDGE = 'ie-pods';

/** Address of this machine on the bridge. The API server listens here. */
export const HOST_ADDRESS = '10.99.0.254';

/** Addresses of Services. */
const SERVICE_NETWORK = '10.96.0.0/16';
/** Address of the Service with DNS. */
export const DNS_ADDRESS = '10.96.0.10';
/** Addresses of all pods. */
export const POD_NETWORK = '10.244.0.0/16';

/** Maximum run time of `ip` and `sysctl`, in ms. */
const COMMAND_MS_MAX = 20_000;

/** A node's zone, and its place in the network. */
export type NodePlace = {
  readonly name: string;
  readonly zone: string;
  readonly address: string;
  readonly podNetwork: string;
};

/** All nodes: one per zone. */
export const PLACES: readonly NodePlace[] = ['a', 'b', 'c'].map((zone, index) => {
  const number = index + 1;
  const [address, podNetwork] = [`10.99.0.${number}`, `10.244.${number}.0/24`];
  return { name: `node${number}`, zone: `zone-${zone}`, address, podNetwork };
});

/** Runs a program in the network namespace of a node: the words before the program. */
export function insideNode({ name }: NodePlace): string[] {
  return ['nsenter', `--net=/var/run/netns/${nameOf(name)}`, '--'];
}

/** Creates bridge, namespaces, cables and routes. `closeNetwork` removes all of them. */
export async function openNetwork(places: readonly NodePlace[]): Promise<void> {
  await ip('link', 'add', BRIDGE, 'type', 'bridge');
  await ip('addr', 'add', `${HOST_ADDRESS}/24`, 'dev', BRIDGE);
  await ip('link', 'set', BRIDGE, 'up');
  for (const place of places) await addNode(place);
  for (const place of places) {
    await ip('route', 'add', place.podNetwork, 'via', place.address);
    for (const other of places.filter((each) => each !== place)) {
      await ipInside(place, 'route', 'add', other.podNetwork, 'via', other.address);
    }
  }
  // The first node serves the addresses of Services to this machine.
  const [first] = places;
  if (first !== undefined) await ip('route', 'add', SERVICE_NETWORK, 'via', first.address);
}

/** Cuts the cable of a node, or connects the node again. */
export async function setConnected({ name }: NodePlace, isConnected: boolean): Promise<void> {
  await ip('link', 'set', nameOf(name), isConnected ? 'up' : 'down');
}

/** How a network policy treats a forbidden packet. */
export type Treatment = 'REJECT' | 'DROP';

/** Runs `work` while a node rejects or drops all packets to a port of one of its pods. */
export async function whileForbidden<Result>(
  node: NodePlace,
  pod: { readonly address: string; readonly port: number; readonly treatment: Treatment },
  work: () => Promise<Result>,
): Promise<Result> {
  const { address, port, treatment } = pod;
  const packets = ['--destination', address, '--protocol', 'tcp', '--dport', `${port}`];
  const rejected = treatment === 'REJECT' ? ['--reject-with', 'tcp-reset'] : [];
  const rule = ['FORWARD', ...packets, '--jump', treatment, ...rejected];
  const iptables = (change: string) => command([...insideNode(node), 'iptables', change, ...rule]);
  await iptables('--insert');
  try {
    return await work();
  } finally {
    await iptables('--delete');
  }
}

async function addNode(place: NodePlace): Promise<void> {
  const { name, address } = place;
  const namespace = nameOf(name);
  await ip('netns', 'add', namespace);
  const peer = ['peer', 'name', 'eth0', 'netns', namespace];
  await ip('link', 'add', nameOf(name), 'type', 'veth', ...peer);
  await ip('link', 'set', nameOf(name), 'master', BRIDGE, 'up');
  await ipInside(place, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
  await ipInside(place, 'link', 'set', 'eth0', 'up');
  await ipInside(place, 'link', 'set', 'lo', 'up');
  await ipInside(place, 'route', 'add', 'default', 'via', HOST_ADDRESS);
  // Pods of a node use its bridge; policies also apply to connections between them.
  const settings = ['net.ipv4.ip_forward=1', 'net.bridge.bridge-nf-call-iptables=1'];
  await command([...insideNode(place), 'sysctl', '-qw', ...settings]);
}

/** Removes the network of this or an earlier run, even if parts are missing. */
export async function closeNetwork(): Promise<void> {
  for (const namespace of existing('/var/run/netns').filter((name) => name.startsWith(PREFIX))) {
    await ip('netns', 'del', namespace).catch(() => undefined);
  }
  // A namespace with a process lives on, and keeps its cable. The routes end with the bridge.
  for (const link of linkNames().filter((name) => name.startsWith(PREFIX))) {
    // The cable may end with its namespace at the same time.
    await ip('link', 'del', link).catch(() => undefined);
  }
}

/** Start of all names. Interfaces have at most 15 characters. */
const PREFIX = 'ie-pods';

/** Name of the namespace and of the cable of a node. */
function nameOf(node: string): string {
  return `${PREFIX}-${node}`;
}

function existing(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function linkNames(): readonly string[] {
  const lines = readFileSync('/proc/net/dev', 'utf8').split('\n');
  return lines.map((line) => line.split(':')[0]?.trim() ?? '');
}

function ip(...args: readonly string[]): Promise<string> {
  return command(['ip', ...args]);
}

function ipInside(place: NodePlace, ...args: readonly string[]): Promise<string> {
  return command([...insideNode(place), 'ip', ...args]);
}

function command([program = '', ...args]: readonly string[]): Promise<string> {
  return outputOf({ program, args, msMax: COMMAND_MS_MAX });
}
