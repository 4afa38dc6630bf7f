import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as peers from '#test/wire/wire-peers';
import { connectEngine } from '#wire/engine-connection';
import { engineServer } from '#wire/engine-server';
import { backoffCeilingMs } from '#wire/frame-connection';
import { EngineReplyFrame, EngineRequestFrame } from '#wire/gen/identity_engine/v1/engine';
import { serveGrpc } from '#wire/grpc-server';
import { connectLimiter } from '#wire/limiter-connection';
import { CONNECT_TIMEOUT_MS, DEADLINE_SWEEP_MS } from '#wire/wire-bounds';

const UNREACHABLE = 'service_unavailable engine_unavailable known';
const LOST = 'service_unavailable engine_unavailable unknown';

const answering = () => engineServer({ ask: () => peers.engineAnswer('ok') });

/** A raw TCP server. */
async function tcpServer(server: Server): Promise<AsyncDisposable & { address: string }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An engine that answers every frame with what `reply` makes of its ids. */
function lyingEngine(reply: (ids: number[], streams: number) => Buffer[]) {
  let streams = 0;
  return peers.rawEngine((stream) => {
    streams += 1;
    const mine = streams;
    stream.on('data', (frame: Buffer) => {
      const ids = EngineRequestFrame.decode(frame).messages.map(({ id }) => id);
      for (const answer of reply(ids, mine)) stream.write(answer);
    });
  });
}

const honest = (ids: number[]): Buffer[] => [
  peers.replyFrame(...ids.map((id): [number, string] => [id, 'ok'])),
];

/** Whether an edge gets an answer within a test's patience, whatever it gets before. */
async function isAnsweredInTheEnd(edge: ReturnType<typeof connectEngine>): Promise<void> {
  await edge.ready();
  assert.is(peers.bodyOf(await edge.ask(peers.engineCall())), 'ok');
}

const dying = suite('when a peer dies');

dying('calls under way end as unknown, later ones at once, and a new peer is found', async () => {
  let isAsked = false;
  const silent = await peers.rawEngine((stream) => {
    stream.on('data', () => {
      isAsked = true;
    });
  });
  const clock = peers.hurriedClock(1);
  await using edge = connectEngine({ address: silent.address, clock, random: () => 0.5 });
  await edge.ready();
  const asked = Array.from({ length: 3 }, () => peers.faultOf(edge.ask(peers.engineCall())));
  await peers.eventually('the calls have arrived', () => isAsked);
  await silent[Symbol.asyncDispose]();
  assert.equal((await Promise.all(asked)).map(peers.verdictOf), [LOST, LOST, LOST]);
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
  const waits = () =>
    clock.delaysMs.filter((ms) => ms !== DEADLINE_SWEEP_MS && ms !== CONNECT_TIMEOUT_MS);
  await peers.eventually('it has tried again three times', () => waits().length >= 3);
  assert.equal(waits().slice(0, 3), [25, 50, 100]);
  await using _server = await serveGrpc({ listen: silent.address, services: [answering()] });
  await isAnsweredInTheEnd(edge);
});

dying('the waits are a random part of a ceiling that doubles up to two seconds', () => {
  const ceilings = [0, 1, 2, 5, 6, 100, 10_000].map(backoffCeilingMs);
  assert.equal(ceilings, [50, 100, 200, 1_600, 2_000, 2_000, 2_000]);
});

dying('a connection that is disposed fails what waits and never comes back', async () => {
  let streams = 0;
  await using server = await peers.rawEngine((stream) => {
    streams += 1;
    stream.resume();
  });
  const edge = connectEngine({ address: server.address, random: () => 0 });
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

hanging(
  'one that accepts and says nothing is never connected to, and keeps no connection',
  async () => {
    let openConnections = 0;
    const listener = createServer((socket) => {
      openConnections += 1;
      socket.resume().on('error', () => undefined);
      socket.on('close', () => (openConnections -= 1));
    });
    await using silent = await tcpServer(listener);
    const clock = peers.hurriedClock(50);
    await using edge = connectEngine({ address: silent.address, clock, random: () => 0 });
    assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
    const attempts = () => clock.delaysMs.filter((ms) => ms === CONNECT_TIMEOUT_MS).length;
    await peers.eventually('the attempt is given up and made again', () => attempts() >= 4);
    await peers.eventually('what was given up is closed', () => openConnections <= 1);
  },
);

hanging('one that takes calls and never answers costs each call its time-out', async () => {
  const limiterPath = '/identity_engine.v1.Limiter/Exchange';
  await using silent = await peers.rawEngine((stream) => stream.resume(), { path: limiterPath });
  await using limiter = connectLimiter({ address: silent.address });
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

hanging('one whose network swallows everything is found out by its silence', async () => {
  await using server = await serveGrpc({ listen: '127.0.0.1:0', services: [answering()] });
  let isSwallowing = false;
  await using proxy = await tcpServer(
    createServer((near) => {
      const far = connect(Number(server.address.split(':')[1]), '127.0.0.1');
      near.on('data', (bytes) => isSwallowing || far.write(bytes));
      far.on('data', (bytes) => isSwallowing || near.write(bytes));
      near.on('close', () => far.destroy());
      far.on('error', () => near.destroy());
    }),
  );
  const keepalive = { timeMs: 40, timeoutMs: 40 };
  await using edge = connectEngine({ address: proxy.address, keepalive, random: () => 0 });
  await isAnsweredInTheEnd(edge);
  isSwallowing = true;
  const startedMs = performance.now();
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), LOST);
  assert.ok(performance.now() - startedMs < 4_000, 'long before the deadline of the call');
  isSwallowing = false;
  await isAnsweredInTheEnd(edge);
});

const babbling = suite('when a peer sends garbage');

babbling('one that does not speak HTTP/2 is never connected to and harms nothing', async () => {
  let connections = 0;
  await using garbage = await tcpServer(
    createServer((socket) => {
      connections += 1;
      socket.write(Buffer.alloc(10_000, 0x5a));
    }),
  );
  await using edge = connectEngine({ address: garbage.address, random: () => 0 });
  await peers.eventually('it is tried again', () => connections >= 3);
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
});

babbling('an undecodable frame ends the stream and a new one is opened', async () => {
  await using liar = await lyingEngine((ids, streams) =>
    streams === 1 ? [Buffer.from([10, 200, 1, 255, 255])] : honest(ids),
  );
  await using edge = connectEngine({ address: liar.address, random: () => 0 });
  await edge.ready();
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), LOST);
  await isAnsweredInTheEnd(edge);
});

babbling('a frame over the bound ends the stream and a new one is opened', async () => {
  const huge = Buffer.alloc(17 * 1_024 * 1_024);
  await using liar = await lyingEngine((ids, streams) => (streams === 1 ? [huge] : honest(ids)));
  await using edge = connectEngine({ address: liar.address, random: () => 0 });
  await edge.ready();
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), LOST);
  await isAnsweredInTheEnd(edge);
});

babbling('answers to unknown ids, and second answers, change nothing', async () => {
  let streams = 0;
  await using liar = await lyingEngine((ids, stream) => {
    streams = stream;
    const [id = 0] = ids;
    const frame = peers.replyFrame([999_999, 'nobody'], [id, 'ok'], [id, 'doubled']);
    return [frame, peers.replyFrame([id, 'trebled'])];
  });
  await using edge = connectEngine({ address: liar.address });
  await isAnsweredInTheEnd(edge);
  await isAnsweredInTheEnd(edge);
  assert.is(streams, 1);
});

babbling('an answer that breaks the domain fails its call alone, outcome unknown', async () => {
  const outcome = { $case: 'fault', value: { ...FAULT, code: 'no_such_code' } } as const;
  await using liar = await lyingEngine(([id = 0, ...rest]) => {
    const messages = [{ id, outcome }];
    return [Buffer.from(EngineReplyFrame.encode({ messages }).finish()), ...honest(rest)];
  });
  await using edge = connectEngine({ address: liar.address });
  await edge.ready();
  const [broken, whole] = await Promise.all([
    peers.faultOf(edge.ask(peers.engineCall())),
    edge.ask(peers.engineCall()),
  ]);
  assert.is(peers.verdictOf(broken), 'internal undefined unknown');
  assert.is(peers.bodyOf(whole), 'ok');
});

const FAULT = { code: 'not_found', message: '', reason: '', outcomeUnknown: false };

babbling('an answer to a call that has not been sent ends the stream', async () => {
  // The peer does not read, so that most calls wait; and it answers the last of them.
  const count = 2_400;
  let guess = (): void => undefined;
  await using liar = await peers.rawEngine((stream) => {
    guess = () => stream.write(peers.replyFrame([count, 'guessed']));
  });
  await using edge = connectEngine({ address: liar.address });
  await edge.ready();
  const asked = Array.from({ length: count }, () => edge.ask(peers.largeCall(4_000)));
  await peers.endOfTurn();
  guess();
  const faults = await Promise.all(asked.map(peers.faultOf));
  assert.is(peers.verdictOf(faults.at(0)), LOST);
  assert.is(peers.verdictOf(faults.at(-1)), UNREACHABLE);
});

babbling('a stream that is ended at once, again and again, is not hammered', async () => {
  let streams = 0;
  await using fickle = await peers.rawEngine((stream) => {
    streams += 1;
    stream.end();
  });
  const clock = peers.hurriedClock(1);
  await using edge = connectEngine({ address: fickle.address, clock, random: () => 1 });
  await peers.eventually('it has been tried three times', () => streams >= 3);
  const waits = clock.delaysMs.filter((ms) => ms !== CONNECT_TIMEOUT_MS);
  assert.equal(waits.slice(0, 2), [50, 100]);
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
});

babbling('a peer that has no such service is not connected to', async () => {
  const server = new grpc.Server();
  const { promise, resolve } = Promise.withResolvers<number>();
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (_, port) =>
    resolve(port),
  );
  const clock = peers.hurriedClock(1);
  await using edge = connectEngine({
    address: `127.0.0.1:${await promise}`,
    clock,
    random: () => 0,
  });
  await peers.eventually('it is tried again', () => clock.delaysMs.length > 4);
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
  server.forceShutdown();
});

dying.run();
hanging.run();
babbling.run();
