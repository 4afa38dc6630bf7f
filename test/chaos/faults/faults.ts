import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeKind } from '#deploy/local/cluster-plan';
import { BACK_MS, type Fault } from '#test/chaos/faults/fault';
import type { Toxic } from '#test/chaos/faults/fault-proxy';
import { fillStore, killStore } from '#test/chaos/faults/kill-store';
import { withoutEveryLimiter, withoutLimiter } from '#test/chaos/faults/limiter-faults';
import { MANIFEST_RESTART } from '#test/chaos/faults/manifest-restart';
import { THREE_NODE_FAULTS } from '#test/chaos/faults/three-node-faults';
import type { Scene } from '#test/chaos/scene';

/** Number of kills in a row. */
const KILLS = 20;

const PAUSED_NODE_MS = 20_000;
const PAUSED_STORE_MS = 10_000;
const NATS_DOWN_MS = 60_000;

/** Time without NATS before an engine is killed, in ms. */
const WITHOUT_NATS_MS = 10_000;

/** Maximum time of a take-over without NATS, in ms. Source: the project's targets. */
const SERVED_WITHOUT_NATS_MS_MAX = 10_000;
const PROXY_FAULT_MS = 10_000;

/** Pauses a node for 20 s. Resolves after the pause. */
function paused(scene: Scene, node: string): Promise<void> {
  const what = `SIGSTOP ${node}, SIGCONT after 20 s`;
  return scene.disturb(what, () => scene.pause(node, PAUSED_NODE_MS));
}

/** All faults of a full run, in order. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'kill-engine',
    title: 'kill -9 of an engine',
    isCompared: true,
    async run(scene) {
      const [engine = ''] = scene.named('engine');
      await scene.disturb(`kill -9 ${engine}`, () => scene.kill(engine));
      await scene.served([engine]);
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-edge',
    title: 'kill -9 of an edge',
    async run(scene) {
      const [edge = ''] = scene.named('edge');
      await scene.disturb(`kill -9 ${edge}`, () => scene.kill(edge));
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-courier',
    title: 'kill -9 of a courier',
    async run(scene) {
      const [courier = ''] = scene.named('courier');
      await scene.disturb(`kill -9 ${courier}`, () => scene.kill(courier));
      await sleep(BACK_MS);
    },
  },
  {
    name: 'pause-courier',
    title: 'SIGSTOP of a courier for 20 s',
    async run(scene) {
      const [, courier = ''] = scene.named('courier');
      await paused(scene, courier);
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-often',
    title: 'kill -9 of engines and couriers, 20 in turn',
    async run(scene) {
      const counts = { engine: 0, courier: 0 };
      for (let count = 0; count < KILLS; count += 1) {
        const kind = count % 3 === 2 ? 'courier' : 'engine';
        const names = scene.named(kind);
        const name = names[counts[kind] % names.length] ?? '';
        counts[kind] += 1;
        await scene.disturb(`kill -9 ${name}`, () => scene.kill(name));
        if (kind === 'engine') await scene.served([name]);
        await sleep(BACK_MS);
      }
    },
  },
  {
    name: 'pause-engine',
    title: 'SIGSTOP of an engine for 20 s',
    async run(scene) {
      const engine = scene.named('engine')[1] ?? '';
      const over = paused(scene, engine);
      await scene.served([engine]);
      await over;
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-limiter',
    title: 'kill -9 of a limiter',
    isTimed: true,
    async run(scene) {
      const [limiter = ''] = scene.named('limiter');
      await withoutLimiter(scene, limiter, async () => {
        await scene.disturb(`kill -9 ${limiter}`, () => scene.kill(limiter));
        await scene.served([limiter]);
      });
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-limiters',
    title: 'kill -9 of every limiter',
    isTimed: true,
    async run(scene) {
      await withoutEveryLimiter(scene);
      await sleep(BACK_MS);
    },
  },
  {
    name: 'pause-limiter',
    title: 'SIGSTOP of a limiter for 20 s',
    isTimed: true,
    async run(scene) {
      const limiter = scene.named('limiter')[1] ?? '';
      let over: Promise<void> | undefined;
      await withoutLimiter(scene, limiter, async () => {
        over = paused(scene, limiter);
        await scene.served([limiter]);
      });
      await over;
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-nats',
    title: 'kill -9 of NATS, restarted after 2 s',
    async run(scene) {
      await scene.disturb('kill -9 nats', () => scene.kill('nats'));
      await sleep(BACK_MS);
    },
  },
  {
    name: 'nats-down',
    title: 'NATS stopped for 60 s',
    async run(scene) {
      await scene.disturb('nats stopped for 60 s', async () => {
        await scene.cluster.stop('nats');
        await sleep(NATS_DOWN_MS);
        await scene.cluster.start('nats');
      });
      await sleep(BACK_MS);
    },
  },
  {
    name: 'kill-engine-without-nats',
    title: 'kill -9 of an engine while NATS is stopped',
    async run(scene) {
      const [engine = ''] = scene.named('engine');
      await scene.disturb('nats stopped', () => scene.cluster.stop('nats'));
      await sleep(WITHOUT_NATS_MS);
      await scene.disturb(`kill -9 ${engine}`, () => scene.kill(engine));
      await scene.served([engine]);
      const servedAfterMs = scene.disturbances.at(-1)?.servedAfterMs ?? Number.POSITIVE_INFINITY;
      if (servedAfterMs > SERVED_WITHOUT_NATS_MS_MAX) {
        scene.findings.add(`without NATS, a take-over took ${Math.round(servedAfterMs)} ms`);
      }
      await scene.disturb('nats started', () => scene.cluster.start('nats'));
      await sleep(BACK_MS);
    },
  },
  {
    name: 'pause-store',
    title: 'Cassandra paused for 10 s',
    async run(scene) {
      await scene.disturb('SIGSTOP cassandra for 10 s', () =>
        scene.pause('cassandra', PAUSED_STORE_MS),
      );
      await scene.served();
      await sleep(BACK_MS);
    },
  },
  proxyFault('store-latency', 'Cassandra with 300 ms more latency', {
    type: 'latency',
    attributes: { latency: 300, jitter: 100 },
  }),
  proxyFault('store-bandwidth', 'Cassandra limited to 64 kB/s', {
    type: 'bandwidth',
    attributes: { rate: 64 },
  }),
  proxyFault('store-half-open', 'half-open connections to Cassandra', {
    type: 'timeout',
    attributes: { timeout: 0 },
  }),
  proxyFault('store-reset', 'connections to Cassandra reset', {
    type: 'reset_peer',
    attributes: { timeout: 0 },
  }),
  {
    name: 'rolling-restart',
    title: 'rolling restart of all processes',
    isCompared: true,
    async run(scene) {
      for (const name of (['limiter', 'engine', 'courier', 'edge'] as const).flatMap((kind) =>
        scene.named(kind),
      )) {
        await scene.disturb(`SIGTERM ${name} and start`, async () => {
          await scene.cluster.stop(name);
          await scene.cluster.start(name);
        });
        await scene.served();
      }
      await sleep(BACK_MS);
    },
  },
  MANIFEST_RESTART,
  addAndDrain('engine', {
    name: 'add-and-drain',
    title: 'one engine added, another removed',
  }),
  addAndDrain('limiter', {
    name: 'add-and-drain-limiter',
    title: 'one limiter added, another removed',
    isTimed: true,
  }),
  // These two faults come after all other faults with one Cassandra node, because a restarted
  // Cassandra spends minutes in JIT compilation. The compilation already affects the second fault.
  {
    name: 'kill-store',
    title: 'kill -9 of Cassandra, then restart',
    async run(scene) {
      await scene.disturb('kill -9 cassandra until it answers again', () =>
        killStore(scene, 'cassandra'),
      );
      await scene.served();
      await sleep(BACK_MS);
    },
  },
  {
    name: 'full-store',
    title: 'disk of Cassandra full for 5 s, then kill -9',
    async run(scene) {
      await scene.disturb('cassandra cannot write until it answers again', () =>
        fillStore(scene, 'cassandra'),
      );
      await scene.served();
      await sleep(BACK_MS);
    },
  },
  ...THREE_NODE_FAULTS,
];

function proxyFault(name: string, title: string, toxic: Toxic): Fault {
  return {
    name,
    title,
    isProxied: true,
    async run(scene) {
      await scene.disturb(`${title} for 10 s`, async () => {
        await scene.proxy.add(toxic, 'downstream');
        await sleep(PROXY_FAULT_MS);
        await scene.proxy.heal();
      });
      await scene.served();
      await sleep(BACK_MS);
    },
  };
}

/**
 * Adds a node and removes the oldest node. The admin port of any running limiter serves all
 * accounts.
 */
function addAndDrain(kind: NodeKind, fault: Omit<Fault, 'run'>): Fault {
  return {
    ...fault,
    async run(scene) {
      const [oldest = ''] = scene.named(kind);
      await scene.disturb(`another ${kind} joins`, async () => {
        await scene.cluster.add(kind);
        await sleep(BACK_MS);
      });
      await scene.served();
      const leave = async () => {
        await scene.disturb(`${oldest} leaves for good`, () => scene.cluster.remove(oldest));
        await scene.served();
      };
      // `withoutLimiter` first waits until the new limiter owns its share of the accounts.
      if (kind === 'limiter') await withoutLimiter(scene, oldest, leave);
      else await leave();
      await sleep(BACK_MS);
    },
  };
}
