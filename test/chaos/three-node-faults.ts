import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlannedProcess } from '#deploy/local/cluster-plan';
import { BACK_MS, type Fault } from '#test/chaos/fault';
import { answers, fillStore, killStore } from '#test/chaos/kill-store';
import type { Scene } from '#test/chaos/scene';

/** Errors that the loss of one of three Cassandra nodes may cost. Source: issue 18. */
export const ONE_AWAY_SHARE_MAX = 0.005;

const PAUSED_STORE_MS = 15_000;

/** The engine is killed while its callers' drivers are still finding out that the node is gone. */
const ENGINE_AFTER_MS = 1_000;

/** How often killed nodes are looked at, and how long a connection may take, in milliseconds. */
const LOOK_EVERY_MS = 20;
const CONNECT_MS_MAX = 500;

const one = { isReplicated: true, errorShareMax: ONE_AWAY_SHARE_MAX } as const;

/**
 * What happens to a cluster on three Cassandra nodes. The pause first: nodes that have just been started
 * compile for minutes.
 */
export const THREE_NODE_FAULTS: readonly Fault[] = [
  {
    name: 'pause-store-node',
    title: 'one Cassandra node paused for 15 s',
    ...one,
    async run(scene) {
      const node = nodeOf(scene, 2);
      const pause = () => scene.pause(node, PAUSED_STORE_MS);
      await scene.disturb(`SIGSTOP ${node} for 15 s`, pause);
      await scene.served();
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-store-node',
    title: 'kill -9 of one Cassandra node, started again',
    ...one,
    async run(scene) {
      const node = nodeOf(scene, 0);
      const kill = () => killStore(scene, node);
      await scene.disturb(`kill -9 ${node} until it answers again`, kill);
      await scene.served();
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-store-node-and-engine',
    title: 'kill -9 of one Cassandra node, and of an engine a second later',
    ...one,
    async run(scene) {
      const node = nodeOf(scene, 1);
      const back = scene.disturb(`kill -9 ${node} until it answers again`, () =>
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
  {
    name: 'full-store-node',
    title: 'no room on the disk of one Cassandra node, then kill -9 and room',
    ...one,
    async run(scene) {
      const node = nodeOf(scene, 2);
      const fill = () => fillStore(scene, node);
      await scene.disturb(`${node} cannot write until it answers again`, fill);
      await scene.served();
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-store-nodes',
    title: 'kill -9 of two Cassandra nodes at once',
    isReplicated: true,
    async run(scene) {
      const nodes = [nodeOf(scene, 0), nodeOf(scene, 1)];
      await scene.disturb(`kill -9 ${nodes.join(' ')} until both answer again`, async () => {
        await withoutMajority(scene, nodes);
        for (const node of nodes) await answers(scene, node);
      });
      await scene.served();
      await sleep(BACK_MS);
    },
  },
];

function nodeOf(scene: Scene, index: number): string {
  const node = scene.named('cassandra')[index];
  if (node === undefined) throw new Error('this cluster has not three Cassandra nodes');
  return node;
}

/** Kills these nodes and records how long there was none of them, until the first listens to others. */
async function withoutMajority(scene: Scene, nodes: readonly string[]): Promise<void> {
  for (const node of nodes) scene.kill(node);
  const isAnyThere = async () => {
    const looks = await Promise.all(nodes.map((node) => listens(scene.plannedOf(node))));
    return looks.includes(true);
  };
  // A killed process listens until the last of its threads has ended.
  while (await isAnyThere()) await sleep(LOOK_EVERY_MS);
  const fromMs = performance.now();
  let toMs = fromMs;
  for (let isBack = false; !isBack; isBack = await isAnyThere()) {
    await sleep(LOOK_EVERY_MS);
    // Before the look: what it does not see may be there when it ends.
    toMs = performance.now();
  }
  scene.storeOutages.push({ nodes, fromMs, toMs });
}

/** Whether a Cassandra node takes connections of others: from then on it may vote with them. */
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
