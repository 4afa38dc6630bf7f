import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Listener } from '#bus/bus';
import { RecentMessages } from '#bus/node-pull';
import { encodeHeartbeat, type Heartbeat } from '#cluster/heartbeat';
import { pulledBus } from '#cluster/pulled-bus';
import type { ShardedService } from '#storage/ports/cluster';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

/** A process that has heard a limiter, and that pulls messages with these subjects from it. */
function newScene(...subjects: readonly string[]) {
  const clock = new ManualClock();
  const listeners = new Map<string, Listener>();
  const scene = { isConnected: true, received: [] as string[], asked: [] as ShardedService[] };
  const signed = {
    get isConnected() {
      return scene.isConnected;
    },
    publish: () => undefined,
    subscribe(subject: string, listener: Listener) {
      listeners.set(subject, listener);
      return { [Symbol.dispose]: () => undefined };
    },
    receivePulled: (subject: string) => void scene.received.push(subject),
    [Symbol.asyncDispose]: async () => undefined,
  };
  const bus = pulledBus(signed, {
    ...{ clock, prefix: 'p', services: ['engine', 'limiter'], recent: new RecentMessages(clock) },
    pull: (service) => async () => {
      scene.asked.push(service);
      return { messages: subjects.map((subject) => ({ subject, message: BLANK })), last: 1 };
    },
  });
  listeners.get('p.limiter.heartbeat')?.(encodeHeartbeat(HEARTBEAT));
  const pass = async (ms: number) => {
    clock.advance(ms);
    await turnOfEvents();
  };
  return { scene, bus, pass };
}

const BLANK = new Uint8Array();
const HEARTBEAT: Heartbeat = {
  ...({ cluster: 'c1', service: 'limiter', node: 'a', incarnation: 'a1' } as const),
  ...{
    address: 'a:8200',
    startedAtMs: 1,
    isLeaving: false,
    viewHash: '',
    shards: [],
    shardCount: 8,
  },
};

const pulled = suite('messages that a process pulls from a limiter');

// Catches a limiter that announces owners of engines' shards, which NATS forbids.
pulled('have only subjects on which a limiter may publish', async () => {
  const subjects = ['p.limiter.shard', 'p.accounts', 'p.engine.shard', 'p.engine.heartbeat', 'p.x'];
  const { scene, pass } = newScene(...subjects);
  scene.isConnected = false;
  await pass(500);
  assert.equal(scene.asked, ['limiter']);
  assert.equal(scene.received, ['p.limiter.shard', 'p.accounts']);
});

// Catches a node that stays alone after a cut of minutes, until NATS is back.
pulled('are still pulled after minutes without NATS', async () => {
  const { scene, pass } = newScene('p.accounts');
  scene.isConnected = false;
  for (let second = 0; second < 300; second += 1) await pass(1_000);
  scene.received.length = 0;
  await pass(500);
  assert.equal(scene.received, ['p.accounts']);
});

pulled.run();
