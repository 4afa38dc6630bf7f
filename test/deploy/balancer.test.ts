import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterPlan } from '#deploy/local/cluster-plan';
import { freePort } from '#deploy/local/free-port';
import { startBalancer } from '#deploy/local/service-process';
import { turnOfEvents } from '#test/support/settled';

/** How long a change may take to be noticed, in milliseconds: two probes, on a busy machine. */
const NOTICE_MS_MAX = 10_000;

/** An edge as a balancer sees one: it answers with its name, and says whether it is ready. */
async function fakeEdge(name: string) {
  const edge = { isReady: true };
  const api = createServer(({ socket, url }, response) => {
    response.end(url === '/caller' ? socket.remoteAddress : name);
  });
  const operators = createServer((_, response) => {
    response.statusCode = edge.isReady ? 200 : 503;
    response.end();
  });
  const [port, operatorsPort] = [await listening(api), await listening(operators)];
  const close = (server: Server): void => {
    server.close();
    server.closeAllConnections();
  };
  return {
    port,
    operatorsPort,
    leave: () => close(api),
    setReady: (isReady: boolean) => Object.assign(edge, { isReady }),
    [Symbol.dispose]: () => [api, operators].forEach(close),
  };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A balancer in front of these edges; `names` asks it on connections of their own. */
async function balancerOf(edges: readonly { port: number; operatorsPort: number }[]) {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-balancer-'));
  const port = await freePort();
  const processes = edges.map((edge, i) => {
    return { name: `edge${i}`, kind: 'edge', variables: {}, ...edge } as const;
  });
  const plan = { ...clusterPlan({ folder, ports: 1 }), processes };
  const planned = { name: 'balancer', kind: 'balancer', port, variables: {} } as const;
  const server = await startBalancer({ folder, logFolder: folder }, planned, plan);
  const ask = async (): Promise<string> => {
    const url = `http://127.0.0.1:${port}/`;
    return (await fetch(url, { headers: { connection: 'close' } })).text();
  };
  /** What an edge says whom it is called by, when `localAddress` calls. */
  const callerAsSeen = async (localAddress: string): Promise<string> => {
    const call = get({ host: '127.0.0.1', port, path: '/caller', localAddress, agent: false });
    const [response] = await once(call, 'response');
    return text(response);
  };
  const names = async (count: number): Promise<string[]> => {
    const all: string[] = [];
    while (all.length < count) all.push(await ask());
    return all;
  };
  return {
    names,
    callerAsSeen,
    async untilOnly(name: string) {
      const deadlineMs = performance.now() + NOTICE_MS_MAX;
      while ((await names(4)).some((other) => other !== name)) {
        assert.ok(performance.now() < deadlineMs, `others than ${name} still answer`);
        await turnOfEvents();
      }
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const balancing = suite('the balancer of a local cluster');

balancing('gives each edge its turn', async () => {
  using left = await fakeEdge('left');
  using right = await fakeEdge('right');
  await using balancer = await balancerOf([left, right]);
  // Three tries, because a machine that stalls for a second makes an edge look away.
  for (let tries = 1; ; tries += 1) {
    const names = await balancer.names(8);
    if (names.every((name, at) => at === 0 || name !== names[at - 1])) return;
    assert.ok(tries < 3, `${names}`);
  }
});

balancing('goes to the other edge at once when one refuses', async () => {
  using left = await fakeEdge('left');
  using right = await fakeEdge('right');
  await using balancer = await balancerOf([left, right]);
  left.leave();
  assert.equal(await balancer.names(4), ['right', 'right', 'right', 'right']);
});

balancing('spares an edge that says it is not ready, until it is again', async () => {
  using left = await fakeEdge('left');
  using right = await fakeEdge('right');
  await using balancer = await balancerOf([left, right]);
  right.setReady(false);
  await balancer.untilOnly('left');
  left.setReady(false);
  right.setReady(true);
  await balancer.untilOnly('right');
});

balancing('uses an edge that is not ready when there is no other', async () => {
  using only = await fakeEdge('only');
  only.setReady(false);
  await using balancer = await balancerOf([only]);
  assert.equal(await balancer.names(2), ['only', 'only']);
});

balancing('shows an edge the address that a caller calls from', async () => {
  using only = await fakeEdge('only');
  await using balancer = await balancerOf([only]);
  for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
    assert.is(await balancer.callerAsSeen(address), address);
  }
});

balancing.run();
