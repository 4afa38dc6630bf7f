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
import { startBalancer } from '#deploy/local/processes/service-process';
import { freePort } from '#deploy/local/servers/free-port';
import { turnOfEvents } from '#test/support/settled';

/** Maximum time until the balancer detects a change, in ms: two probes on a busy machine. */
const NOTICE_MS_MAX = 10_000;

/** A fake edge, which answers with its name and has a readiness probe. */
async function fakeEdge(name: string) {
  const edge = { isReady: true };
  const api = createServer(({ socket, url }, response) => {
    // An endless stream.
    if (url === '/events') return void response.write(name);
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

type Ports = { readonly port: number; readonly operatorsPort: number };

/**
 * Starts a balancer in front of these edges and consoles. `names` sends requests, each on a new
 * connection, and returns the names of the processes that answered.
 */
async function balancerOf(edges: readonly Ports[], consoles: readonly Ports[] = edges) {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-balancer-'));
  const [port, consolePort] = [await freePort(), await freePort()];
  const processesOf = (kind: 'edge' | 'console', all: readonly Ports[]) =>
    all.map((each, i) => ({ name: `${kind}${i}`, kind, variables: {}, ...each }) as const);
  const processes = [...processesOf('edge', edges), ...processesOf('console', consoles)];
  const plan = { ...clusterPlan({ folder, ports: 1 }), processes };
  const entrances = [
    { port, kind: 'edge' },
    { port: consolePort, kind: 'console' },
  ] as const;
  const planned = { name: 'balancer', kind: 'balancer', port, variables: {}, entrances } as const;
  const server = await startBalancer({ folder, logFolder: folder }, planned, plan);
  const ask = async (at: number): Promise<string> => {
    const url = `http://127.0.0.1:${at}/`;
    return (await fetch(url, { headers: { connection: 'close' } })).text();
  };
  /** Client address that an edge sees for a call from `localAddress`. */
  const callerAsSeen = async (localAddress: string): Promise<string> => {
    const call = get({ host: '127.0.0.1', port, path: '/caller', localAddress, agent: false });
    const [response] = await once(call, 'response');
    return text(response);
  };
  const names = async (count: number, at = port): Promise<string[]> => {
    const all: string[] = [];
    while (all.length < count) all.push(await ask(at));
    return all;
  };
  return {
    port,
    consolePort,
    names,
    callerAsSeen,
    async untilOnly(name: string) {
      const deadlineMs = performance.now() + NOTICE_MS_MAX;
      while ((await names(4)).some((other) => other !== name)) {
        assert.ok(performance.now() < deadlineMs, `edges other than ${name} still answer`);
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

balancing('distributes calls over edges in turn', async () => {
  using left = await fakeEdge('left');
  using right = await fakeEdge('right');
  await using balancer = await balancerOf([left, right]);
  // Three attempts: on a stalled machine, an edge may look unready.
  for (let attempt = 1; ; attempt += 1) {
    const names = await balancer.names(8);
    if (names.every((name, at) => at === 0 || name !== names[at - 1])) return;
    assert.ok(attempt < 3, `${names}`);
  }
});

balancing('uses another edge immediately if an edge refuses the connection', async () => {
  using left = await fakeEdge('left');
  using right = await fakeEdge('right');
  await using balancer = await balancerOf([left, right]);
  left.leave();
  assert.equal(await balancer.names(4), ['right', 'right', 'right', 'right']);
});

balancing('avoids an unready edge until it is ready again', async () => {
  using left = await fakeEdge('left');
  using right = await fakeEdge('right');
  await using balancer = await balancerOf([left, right]);
  right.setReady(false);
  await balancer.untilOnly('left');
  left.setReady(false);
  right.setReady(true);
  await balancer.untilOnly('right');
});

balancing('uses an unready edge if no edge is ready', async () => {
  using only = await fakeEdge('only');
  only.setReady(false);
  await using balancer = await balancerOf([only]);
  assert.equal(await balancer.names(2), ['only', 'only']);
});

balancing("passes the caller's address to the edge", async () => {
  using only = await fakeEdge('only');
  await using balancer = await balancerOf([only]);
  for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
    assert.is(await balancer.callerAsSeen(address), address);
  }
});

balancing('forwards the first bytes of a stream without waiting for its end', async () => {
  using only = await fakeEdge('only');
  await using balancer = await balancerOf([only]);
  const call = get({ host: '127.0.0.1', port: balancer.port, path: '/events', agent: false });
  const [response] = await once(call, 'response');
  const [first] = await once(response, 'data');
  assert.is(String(first), 'only');
  call.destroy();
});

balancing('has separate ports for edges and consoles', async () => {
  using edge = await fakeEdge('edge');
  using page = await fakeEdge('console');
  await using balancer = await balancerOf([edge], [page]);
  assert.equal(await balancer.names(2), ['edge', 'edge']);
  assert.equal(await balancer.names(2, balancer.consolePort), ['console', 'console']);
});

balancing.run();
