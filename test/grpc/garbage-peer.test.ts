import { createServer } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CONNECT_TIMEOUT_MS } from '#grpc/call-bounds';
import { engineProtocol } from '#grpc/engine-codec';
import { FrameClient } from '#grpc/frame-client';
import { EngineReplyFrame, EngineRequestFrame } from '#grpc/gen/identity_engine/v1/engine';
import * as peers from '#test/grpc/wire-peers';

const UNREACHABLE = 'service_unavailable engine_unavailable known';
const LOST = 'service_unavailable engine_unavailable unknown';

/** An engine that answers every frame with the result of `reply` for the call ids in the frame. */
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

const babbling = suite('when a peer sends garbage');

babbling(
  'a client never connects to a peer that does not speak HTTP/2, and its calls are refused',
  async () => {
    let connections = 0;
    await using garbage = await peers.tcpServer(
      createServer((socket) => {
        connections += 1;
        socket.write(Buffer.alloc(10_000, 0x5a));
      }),
    );
    await using edge = new FrameClient(engineProtocol, {
      address: garbage.address,
      random: () => 0,
    });
    await peers.eventually('the client connects again', () => connections >= 3);
    assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
  },
);

babbling('an undecodable frame ends the stream and a new stream is opened', async () => {
  await using liar = await lyingEngine((ids, streams) =>
    streams === 1 ? [Buffer.from([10, 200, 1, 255, 255])] : honest(ids),
  );
  await using edge = new FrameClient(engineProtocol, { address: liar.address, random: () => 0 });
  await edge.ready();
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), LOST);
  await peers.isAnsweredInTheEnd(edge);
});

babbling('a frame above the size limit ends the stream and a new stream is opened', async () => {
  const huge = Buffer.alloc(17 * 1_024 * 1_024);
  await using liar = await lyingEngine((ids, streams) => (streams === 1 ? [huge] : honest(ids)));
  await using edge = new FrameClient(engineProtocol, { address: liar.address, random: () => 0 });
  await edge.ready();
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), LOST);
  await peers.isAnsweredInTheEnd(edge);
});

babbling('answers to unknown ids, and repeated answers, change nothing', async () => {
  let streams = 0;
  await using liar = await lyingEngine((ids, stream) => {
    streams = stream;
    const [id = 0] = ids;
    const frame = peers.replyFrame([999_999, 'unknown'], [id, 'ok'], [id, 'doubled']);
    return [frame, peers.replyFrame([id, 'trebled'])];
  });
  await using edge = new FrameClient(engineProtocol, { address: liar.address });
  await peers.isAnsweredInTheEnd(edge);
  await peers.isAnsweredInTheEnd(edge);
  assert.is(streams, 1);
});

babbling(
  'an answer with an unknown error code fails only its own call, with an unknown outcome',
  async () => {
    const outcome = { $case: 'fault', value: { ...FAULT, code: 'no_such_code' } } as const;
    await using liar = await lyingEngine(([id = 0, ...rest]) => {
      const messages = [{ id, outcome }];
      return [Buffer.from(EngineReplyFrame.encode({ messages }).finish()), ...honest(rest)];
    });
    await using edge = new FrameClient(engineProtocol, { address: liar.address });
    await edge.ready();
    const [broken, whole] = await Promise.all([
      peers.faultOf(edge.ask(peers.engineCall())),
      edge.ask(peers.engineCall()),
    ]);
    assert.is(peers.verdictOf(broken), 'internal undefined unknown');
    assert.is(peers.bodyOf(whole), 'ok');
  },
);

const FAULT = { code: 'not_found', message: '', reason: '', outcomeUnknown: false };

babbling('an answer to a call that the client has not sent yet ends the stream', async () => {
  // The peer does not read, so most calls wait. The peer answers the last of them.
  const count = 2_400;
  let guess = (): void => undefined;
  await using liar = await peers.rawEngine((stream) => {
    guess = () => stream.write(peers.replyFrame([count, 'guessed']));
  });
  await using edge = new FrameClient(engineProtocol, { address: liar.address });
  await edge.ready();
  const asked = Array.from({ length: count }, () => edge.ask(peers.largeCall(4_000)));
  await peers.endOfTurn();
  guess();
  const faults = await Promise.all(asked.map(peers.faultOf));
  assert.is(peers.verdictOf(faults.at(0)), LOST);
  assert.is(peers.verdictOf(faults.at(-1)), UNREACHABLE);
});

babbling('a stream that always ends immediately is reopened after increasing pauses', async () => {
  let streams = 0;
  await using fickle = await peers.rawEngine((stream) => {
    streams += 1;
    stream.end();
  });
  const clock = peers.hurriedClock(1);
  await using edge = new FrameClient(engineProtocol, {
    address: fickle.address,
    clock,
    random: () => 1,
  });
  await peers.eventually('three attempts', () => streams >= 3);
  const waits = clock.delaysMs.filter((ms) => ms !== CONNECT_TIMEOUT_MS);
  assert.equal(waits.slice(0, 2), [50, 100]);
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
});

babbling('a client does not connect to a peer without the service', async () => {
  const server = new grpc.Server();
  const { promise, resolve } = Promise.withResolvers<number>();
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (_, port) =>
    resolve(port),
  );
  const clock = peers.hurriedClock(1);
  await using edge = new FrameClient(engineProtocol, {
    address: `127.0.0.1:${await promise}`,
    clock,
    random: () => 0,
  });
  await peers.eventually('the client connects again', () => clock.delaysMs.length > 4);
  assert.is(peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall()))), UNREACHABLE);
  server.forceShutdown();
});

babbling.run();
