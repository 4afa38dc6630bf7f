import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlannedProcess } from '#deploy/local/cluster-plan';
import { BACK_MS, type Fault } from '#test/chaos/faults/fault';
import {
  answers,
  FULL_STORE_MS,
  fillStore,
  fillUpStore,
  killStore,
} from '#test/chaos/faults/kill-store';
import type { Scene } from '#test/chaos/scene';

/** Maximum share of failed calls while one Cassandra node is down. */
export const ONE_AWAY_SHARE_MAX = 0.005;

const PAUSED_STORE_MS = 15_000;

/** Time until SIGSTOP has stopped all threads of a process, in milliseconds. */
const SIGNAL_MS = 100;

/** Time from the kill of a node to the kill of an engine, in ms. Drivers detect the loss later. */
const ENGINE_AFTER_MS = 1_000;

/** Polling interval for killed nodes, in milliseconds. */
const POLL_EVERY_MS = 20;

/** Timeout of a connection to a node, in milliseconds. */
const CONNECT_MS_MAX = 500;

/**
 * Faults with three Cassandra nodes. The pause comes first, because restarted nodes spend minutes
 * in JIT compilation.
 */
export const THREE_NODE_FAULTS: readonly Fault[] = [
  ofOne({
    name: 'pause-store-node',
    title: 'a Cassandra node paused for 15 s',
    what: 'SIGSTOP for 15 s',
    index: 2,
    act: (scene, node) => scene.pause(node, PAUSED_STORE_MS),
  }),
  ofOne({
    name: 'kill-store-node',
    title: 'kill -9 of a Cassandra node',
    what: 'kill -9 until it answers again',
    index: 0,
    act: killStore,
  }),
  {
    name: 'kill-store-node-and-engine',
    title: 'kill -9 of a Cassandra node and, 1 s later, an engine',
    isReplicated: true,
    errorShareMax: ONE_AWAY_SHARE_MAX,
    async run(scene) {
      const node = nodeOf(scene, 1);
      const back = scene.disturb(`kill -9 until it answers again: ${node}`, () =>
        killStore(scene, node),
      );
      await sleep(ENGINE_AFTER_MS);
      const [engine = ''] = scene.named('engine');
      await scene.disturb(`kill -9 ${engine}`, () => scene.kill(engine));
      await scene.served([engine]);
      await back;
      await sleep(BACK_MS);
    },
  },
  ofOne({
    name: 'full-store-node',
    title: 'disk of a Cassandra node full for 5 s, then kill -9',
    what: 'cannot write until it answers again',
    index: 2,
    act: fillStore,
  }),
  ofTwo({
    name: 'pause-store-nodes',
    title: 'two Cassandra nodes paused for 15 s',
    what: 'SIGSTOP for 15 s',
    async act(scene, nodes) {
      const fromMs = performance.now();
      const paused = nodes.map((node) => scene.pause(node, PAUSED_STORE_MS));
      // The nodes stay paused at least until `toMs`, because the timers started after `fromMs`.
      const toMs = fromMs + PAUSED_STORE_MS;
      await Promise.all(paused);
      scene.storeOutages.push({ nodes, fromMs: fromMs + SIGNAL_MS, toMs });
    },
  }),
  ofTwo({
    name: 'kill-store-nodes',
    title: 'kill -9 of two Cassandra nodes',
    what: 'kill -9 until both answer again',
    act: killStores,
  }),
  ofTwo({
    name: 'full-store-nodes',
    title: 'disks of two Cassandra nodes full for 5 s, then kill -9',
    what: 'cannot write until both answer again',
    async act(scene, nodes) {
      for (const node of nodes) await fillUpStore(scene, node);
      await sleep(FULL_STORE_MS);
      await killStores(scene, nodes);
    },
  }),
];

/** A fault with its targets. */
type FaultOf<Target> = Pick<Fault, 'name' | 'title'> & {
  readonly what: string;
  readonly act: (scene: Scene, target: Target) => Promise<void>;
};

function ofOne({
  name,
  title,
  what,
  index,
  act,
}: FaultOf<string> & { readonly index: number }): Fault {
  const nodesOf = (scene: Scene) => [nodeOf(scene, index)];
  const actOn = (scene: Scene, [node = '']: readonly string[]) => act(scene, node);
  const fault = ofNodes({ name, title, what, act: actOn }, nodesOf);
  return { ...fault, errorShareMax: ONE_AWAY_SHARE_MAX };
}

function ofTwo(fault: FaultOf<readonly string[]>): Fault {
  return ofNodes(fault, (scene) => [nodeOf(scene, 0), nodeOf(scene, 1)]);
}

function ofNodes(
  { name, title, what, act }: FaultOf<readonly string[]>,
  nodesOf: (scene: Scene) => readonly string[],
): Fault {
  return {
    name,
    title,
    isReplicated: true,
    async run(scene) {
      const nodes = nodesOf(scene);
      await scene.disturb(`${what}: ${nodes.join(' ')}`, () => act(scene, nodes));
      await scene.served();
      await sleep(BACK_MS);
    },
  };
}

/** Kills nodes. Resolves when all nodes answer again. */
async function killStores(scene: Scene, nodes: readonly string[]): Promise<void> {
  await withoutMajority(scene, nodes);
  for (const node of nodes) await answers(scene, node);
}

function nodeOf(scene: Scene, index: number): string {
  const node = scene.named('cassandra')[index];
  if (node === undefined) throw new Error('this fault needs a cluster with three Cassandra nodes');
  return node;
}

/**
 * Kills nodes and records the outage, from the time when no node accepts connections until the
 * first node accepts connections again.
 */
async function withoutMajority(scene: Scene, nodes: readonly string[]): Promise<void> {
  for (const node of nodes) scene.kill(node);
  const isAnyListening = async () => {
    const polled = await Promise.all(nodes.map((node) => listens(scene.plannedOf(node))));
    return polled.includes(true);
  };
  // A killed process keeps its port open until its last thread has ended.
  while (await isAnyListening()) await sleep(POLL_EVERY_MS);
  const fromMs = performance.now();
  let toMs = fromMs;
  for (let pollMs = fromMs; !(await isAnyListening()); pollMs = performance.now()) {
    // The outage ends at the previous poll, because a node may have started since then.
    toMs = pollMs;
    await sleep(POLL_EVERY_MS);
  }
  scene.storeOutages.push({ nodes, fromMs, toMs });
}

/** Whether a Cassandra node accepts connections from other nodes. It can then join a quorum. */
function listens({ host = '', otherPorts: [port = 0] = [] }: PlannedProcess): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port, timeout: CONNECT_MS_MAX });
  for (const event of ['connect', 'error', 'timeout'] as const) {
    socket.once(event, () => {
      resolve(event === 'connect');
      socket.destroy();
    });
  }
  return promise;
}
