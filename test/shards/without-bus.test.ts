import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus, Listener } from '#bus/bus';
import { RecentMessages } from '#bus/node-pull';
import { pulledBus } from '#cluster/pulled-bus';
import { TallyCluster, type TallyNode } from '#test/shards/node-fixture';

const away = suite('without the server of the bus');

/** Names of three nodes. */
const NAMES = ['a', 'b', 'c'] as const;

/** Nodes on a bus whose server can be taken away. Nodes pull messages from each other. */
async function newScene() {
  const cluster = new TallyCluster();
  const { clock } = cluster;
  const server = { isAway: false };
  const recents = new Map<string, RecentMessages>();
  const nodes = new Map<string, TallyNode>();
  const busOf = (name: string): Bus => {
    const wire = cluster.busOf(name);
    const recent = new RecentMessages(clock);
    recents.set(`${name}:1`, recent);
    const listeners: { readonly subject: string; readonly listener: Listener }[] = [];
    const unsigned = {
      get isConnected() {
        return !server.isAway;
      },
      publish(subject: string, message: Uint8Array) {
        recent.add(subject, message);
        if (!server.isAway) wire.publish(subject, message);
      },
      subscribe(subject: string, listener: Listener) {
        listeners.push({ subject, listener });
        return wire.subscribe(subject, (message) => server.isAway || listener(message));
      },
      receivePulled(subject: string, message: Uint8Array) {
        for (const each of listeners) if (each.subject === subject) each.listener(message);
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
    return pulledBus(unsigned, {
      ...{ clock, prefix: 'test', services: ['engine'], recent },
      pull: () => async (address, after) => {
        const from = address.replace(':1', '');
        const recent = recents.get(address);
        if (recent === undefined || cluster.isDead(from)) throw new Error('no answer');
        return recent.since(after);
      },
    });
  };
  for (const name of NAMES) nodes.set(name, await cluster.join(name, { bus: busOf(name) }));
  await cluster.live(8_000);
  const shardsOf = (name: string): number => nodes.get(name)?.current?.shards.size ?? 0;
  return { cluster, server, shardsOf };
}

// Catches a cluster that loses a node's shards for as long as NATS is away.
away('a killed node is taken over within 10 s', async () => {
  const { cluster, server, shardsOf } = await newScene();
  server.isAway = true;
  await cluster.live(5_000);
  assert.ok(shardsOf('a') > 0);
  cluster.kill('a');
  await cluster.live(10_000);
  assert.is(shardsOf('b') + shardsOf('c'), 8);
  assert.equal(cluster.bugs, []);
});

away.run();
