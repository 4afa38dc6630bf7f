import { connect, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CONNECT_TIMEOUT_MS, DEADLINE_SWEEP_MS } from '#grpc/call-bounds';
import { engineProtocol } from '#grpc/engine-codec';
import { backoffCeilingMs } from '#grpc/frame';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import * as peers from '#test/grpc/wire-peers';
import { turnOfEvents } from '#test/support/settled';

const UNREACHABLE = 'service_unavailable engine_unavailable known';
const LOST = 'service_unavailable engine_unavailable unknown';

const answering = () => frameService(engineProtocol, { ask: () => peers.engineAnswer('ok') });

const dying = suite('when a peer dies');

dying(
  'calls in flight end with unknown outcome, later calls fail immediately, and the edge reconnects',
  async () => {
    let isAsked = false;
    const silent = await peers.rawEngine((stream) => {
      stream.on('data', () => {
        isAsked = true;
      });
    });
    const clock = peers.hurriedClock(1);
    await using edge = new FrameClient(engineProtocol, {
      address: silent.address,
      clock,
      random: () => 0.5,
    });
    await edge.ready();
    const asked = Array.from({ length: 3 }, () => peers.faultOf(edge.ask(peers.engineCall())));
    await peers.eventually('the calls have arrived', () => isAsked);
    await silent[Symbol.asyncDispose]();
    assert.equal((await Promise.all(asked)).map(peers.verdictOf), [LOST, LOST, LOST]);
    assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
    const waits = () =>
      clock.delaysMs.filter((ms) => ms !== DEADLINE_SWEEP_MS && ms !== CONNECT_TIMEOUT_MS);
    await peers.eventually('three attempts', () => waits().length >= 3);
    assert.equal(waits().slice(0, 3), [25, 50, 100]);
    await using _server = await serveGrpc({ listen: silent.address, services: [answering()] });
    await peers.isAnsweredInTheEnd(edge);
  },
);

const connecting = suite('a connection to a peer');

connecting(
  'is refused with the cause if the peer has another generation of the protocol',
  async () => {
    await using server = await serveGrpc({
      listen: '127.0.0.1:0',
      services: [frameService(limiterProtocol, { ask: () => assert.unreachable() as never })],
    });
    await using edge = new FrameClient(engineProtocol, {
      address: server.address,
      random: () => 0,
    });
    const refused = async () => peers.faultOf(edge.ask(peers.engineCall()));
    let cause: unknown;
    while (cause === undefined) {
      await turnOfEvents();
      ({ cause } = await refused());
    }
    assert.match(
      String(cause),
      /127\.0\.0\.1:\d+ does not serve identity_engine\.v1\.Engine: its release/,
    );
    assert.is(peers.verdictOf(await refused()), UNREACHABLE);
  },
);

connecting('is opened again after a maximum pause that doubles up to two seconds', () => {
  const ceilings = [0, 1, 2, 5, 6, 100, 10_000].map(backoffCeilingMs);
  assert.equal(ceilings, [50, 100, 200, 1_600, 2_000, 2_000, 2_000]);
});

connecting('that is disposed fails waiting calls and never opens again', async () => {
  let streams = 0;
  await using server = await peers.rawEngine((stream) => {
    streams += 1;
    stream.resume();
  });
  const edge = new FrameClient(engineProtocol, { address: server.address, random: () => 0 });
  await edge.ready();
  const asked = peers.faultOf(edge.ask(peers.engineCall()));
  await peers.endOfTurn();
  await edge[Symbol.asyncDispose]();
  assert.is(peers.verdictOf(await asked), LOST);
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.is(streams, 1);
});

const hanging = suite('when a peer hangs');

hanging('an edge abandons and closes a connection on which the peer sends nothing', async () => {
  let openConnections = 0;
  const listener = createServer((socket) => {
    openConnections += 1;
    socket.resume().on('error', () => undefined);
    socket.on('close', () => (openConnections -= 1));
  });
  await using silent = await peers.tcpServer(listener);
  const clock = peers.hurriedClock(50);
  await using edge = new FrameClient(engineProtocol, {
    address: silent.address,
    clock,
    random: () => 0,
  });
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
  const attempts = () => clock.delaysMs.filter((ms) => ms === CONNECT_TIMEOUT_MS).length;
  await peers.eventually('the attempt is given up and repeated', () => attempts() >= 4);
  await peers.eventually('the abandoned connection is closed', () => openConnections <= 1);
});

hanging('calls to a peer that never answers end after their time-out', async () => {
  const limiterPath = '/identity_engine.v1.Limiter/Exchange';
  await using silent = await peers.rawEngine((stream) => stream.resume(), { path: limiterPath });
  await using limiter = new FrameClient(limiterProtocol, { address: silent.address });
  await limiter.ready();
  const call = { kind: 'settle', accountId: 'a', callId: 1, callTag: 0, cyclesUsed: 0 } as const;
  const startedMs = performance.now();
  const faults = await Promise.all([
    peers.faultOf(limiter.ask(call)),
    peers.faultOf(limiter.ask(call)),
  ]);
  const tookMs = performance.now() - startedMs;
  const lost = 'service_unavailable limiter_unavailable unknown';
  assert.equal(faults.map(peers.verdictOf), [lost, lost]);
  assert.ok(tookMs > 95, `${tookMs} ms`);
});

hanging(
  'a peer behind a network that drops everything is detected by missing keepalive answers',
  async () => {
    await using server = await serveGrpc({ listen: '127.0.0.1:0', services: [answering()] });
    let isSwallowing = false;
    await using proxy = await peers.tcpServer(
      createServer((near) => {
        const far = connect(Number(server.address.split(':')[1]), '127.0.0.1');
        near.on('data', (bytes) => isSwallowing || far.write(bytes));
        far.on('data', (bytes) => isSwallowing || near.write(bytes));
        near.on('close', () => far.destroy());
        far.on('error', () => near.destroy());
      }),
    );
    const keepalive = { timeMs: 40, timeoutMs: 500 };
    await using edge = new FrameClient(engineProtocol, {
      address: proxy.address,
      keepalive,
      random: () => 0,
    });
    await peers.isAnsweredInTheEnd(edge);
    isSwallowing = true;
    const startedMs = performance.now();
    assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), LOST);
    assert.ok(performance.now() - startedMs < 4_000, 'long before the deadline of the call');
    isSwallowing = false;
    await peers.isAnsweredInTheEnd(edge);
  },
);

for (const group of [dying, connecting, hanging]) group.run();
