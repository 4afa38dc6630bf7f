import { once } from 'node:events';
import { connect } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineClient } from '#grpc/engine-messages';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import {
  type EngineReply,
  EngineReplyFrame,
  type EngineRequest,
  EngineService,
} from '#grpc/gen/identity_engine/v1/engine';
import { serveGrpc } from '#grpc/grpc-server';
import * as peers from '#test/grpc/wire-peers';

const LISTEN = '127.0.0.1:0';
const INSECURE = grpc.credentials.createInsecure();

const obliging: EngineClient = { ask: () => peers.engineAnswer('ok') };

async function served(engine: EngineClient, stopGraceMs = 100, reportBug = () => undefined) {
  const services = [frameService(engineProtocol, engine, { reportBug })];
  return await serveGrpc({ listen: LISTEN, services, stopGraceMs });
}

/** Runs `mischief` while a valid edge keeps calling. Every call must be answered. */
async function goodEdgeDuring(address: string, mischief: () => Promise<void>): Promise<void> {
  await using edge = new FrameClient(engineProtocol, { address });
  await edge.ready();
  let isOver = false;
  let answered = 0;
  const asking = (async () => {
    while (!isOver) {
      assert.is(peers.bodyOf(await edge.ask(peers.engineCall())), 'ok');
      answered += 1;
    }
  })();
  await mischief();
  const before = answered;
  await peers.eventually('the valid edge is answered afterwards', () => answered > before + 10);
  isOver = true;
  await asking;
}

/** Sends raw bytes and waits until the server has closed the connection or answered. */
async function strangerSays(address: string, bytes: Buffer | string): Promise<void> {
  const socket = connect(Number(address.split(':')[1]), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const heard = Promise.race([once(socket, 'close'), once(socket, 'data')]);
  socket.write(bytes);
  await heard;
  socket.destroy();
}

/**
 * Sends one raw message on the engine's stream. Returns the gRPC status with which the stream ends.
 */
async function streamEndsAfter(address: string, frame: Buffer): Promise<number> {
  using edge = peers.rawEdge(address);
  edge.stream.resume();
  edge.stream.write(frame);
  return await edge.status;
}

const strange = suite('when other programs connect to a server');

strange('bytes of another protocol end only their own connection', async () => {
  await using server = await served(obliging);
  await goodEdgeDuring(server.address, async () => {
    await strangerSays(server.address, Buffer.alloc(5_000, 0xee));
    await strangerSays(server.address, 'GET /v1/instances HTTP/1.1\r\nHost: a\r\n\r\n');
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
    await strangerSays(server.address, Buffer.concat([Buffer.from(preface), Buffer.alloc(99, 7)]));
  });
});

strange('invalid frames end only their own stream', async () => {
  await using server = await served(obliging);
  const tooMany = Buffer.alloc(2 * 20_000);
  for (let at = 0; at < tooMany.length; at += 2) tooMany[at] = 10;
  const twice = peers.requestFrame(peers.wireRequest({ id: 1 }));
  await goodEdgeDuring(server.address, async () => {
    const { INVALID_ARGUMENT, RESOURCE_EXHAUSTED } = grpc.status;
    const ends = (frame: Buffer) => streamEndsAfter(server.address, frame);
    assert.is(await ends(Buffer.from([10, 200, 1, 255])), INVALID_ARGUMENT, 'cut short');
    assert.is(await ends(Buffer.from('hello')), INVALID_ARGUMENT, 'text');
    assert.is(await ends(tooMany), INVALID_ARGUMENT, 'too many messages');
    assert.is(await ends(twice.subarray(0, -1)), INVALID_ARGUMENT, 'one byte short');
    const overrun = Buffer.from([10, 2, 26, 3, 97, 98, 99]);
    assert.is(await ends(overrun), INVALID_ARGUMENT, 'a field longer than its message');
    assert.is(
      await ends(Buffer.alloc(5 * 1_024 * 1_024)),
      RESOURCE_EXHAUSTED,
      'larger than the limit',
    );
  });
});

strange('a second call with the id of a call in progress ends the stream', async () => {
  await using server = await served({ ask: () => new Promise(() => undefined) });
  const request = peers.wireRequest({ id: 1 });
  const status = await streamEndsAfter(server.address, peers.requestFrame(request, request));
  assert.is(status, grpc.status.INVALID_ARGUMENT);
});

strange(
  'an invalid call is refused and reported, and the other calls of its frame are answered',
  async () => {
    const bugs: unknown[] = [];
    const services = [
      frameService(engineProtocol, obliging, { reportBug: (bug) => bugs.push(bug) }),
    ];
    await using server = await serveGrpc({ listen: LISTEN, services, stopGraceMs: 100 });
    using edge = peers.rawEdge(server.address);
    const wrong = peers.wireRequest({ id: 1, instanceId: '' });
    edge.stream.write(peers.requestFrame(wrong, peers.wireRequest({ id: 2 })));
    const [frame] = await once(edge.stream, 'data');
    const { messages } = EngineReplyFrame.decode(frame);
    assert.equal(
      messages.map(({ id, outcome }) => [id, outcome?.$case]),
      [
        [1, 'fault'],
        [2, 'answer'],
      ],
    );
    assert.is(bugs.length, 1);
  },
);

strange('a call without any time left is dropped', async () => {
  await using server = await served(obliging);
  using edge = peers.rawEdge(server.address);
  const late = peers.wireRequest({ id: 77, timeoutMs: 0 });
  edge.stream.write(peers.requestFrame(late, peers.wireRequest({ id: 2 })));
  const [frame] = await once(edge.stream, 'data');
  assert.equal(
    EngineReplyFrame.decode(frame).messages.map(({ id }) => id),
    [2],
  );
});

strange('an answer after the deadline of its call is dropped', async () => {
  const answers: (() => void)[] = [];
  const ask = () =>
    new Promise<ReturnType<typeof peers.engineAnswer>>((resolve) => {
      answers.push(() => resolve(peers.engineAnswer('ok')));
    });
  await using server = await served({ ask });
  using edge = peers.rawEdge(server.address);
  edge.stream.write(
    peers.requestFrame(
      peers.wireRequest({ id: 1, timeoutMs: 1 }),
      peers.wireRequest({ id: 2, timeoutMs: 9_000 }),
    ),
  );
  await peers.eventually('both calls are in progress', () => answers.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 10));
  for (const answer of answers) answer();
  const [frame] = await once(edge.stream, 'data');
  assert.equal(
    EngineReplyFrame.decode(frame).messages.map(({ id }) => id),
    [2],
  );
});

strange(
  'a call is not started if its deadline passes during a slow call of the same frame',
  async () => {
    const begun: number[] = [];
    const deadlines: number[] = [];
    const ask: EngineClient['ask'] = ({ callId, deadlineAtMs }) => {
      begun.push(callId);
      deadlines.push(deadlineAtMs);
      const startedMs = performance.now();
      while (callId === 1 && performance.now() - startedMs < 20);
      return peers.engineAnswer('ok');
    };
    await using server = await served({ ask });
    using edge = peers.rawEdge(server.address);
    const frame = peers.requestFrame(
      peers.wireRequest({ id: 1, callId: 1 }),
      peers.wireRequest({ id: 2, callId: 2, timeoutMs: 10 }),
      peers.wireRequest({ id: 3, callId: 3 }),
    );
    edge.stream.write(frame);
    await once(edge.stream, 'data');
    assert.equal(begun, [1, 3]);
    assert.is(deadlines[0], deadlines[1], 'both deadlines count from the arrival of the frame');
  },
);

const tool = suite('when a tool makes a single call without a stream');

function askOnce(address: string, request: EngineRequest) {
  const client = new grpc.Client(address, INSECURE);
  const { path, requestSerialize, responseDeserialize } = EngineService.ask;
  return new Promise<EngineReply>((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      (error, reply) => {
        client.close();
        if (reply === undefined) reject(error);
        else resolve(reply);
      },
    );
  });
}

tool('the call is answered, even without a time-out', async () => {
  await using server = await served(obliging);
  const { outcome } = await askOnce(server.address, peers.wireRequest({ id: 9, timeoutMs: 0 }));
  assert.is(outcome?.$case, 'answer');
});

tool('a fault becomes a gRPC status, and an invalid call gets a description', async () => {
  const refusing: EngineClient = {
    ask() {
      throw new Fault('not_found', 'no such instance');
    },
  };
  await using server = await served(refusing);
  const statusOf = (request: EngineRequest) =>
    askOnce(server.address, request).catch(({ code, details }) => `${code} ${details}`);
  assert.is(await statusOf(peers.wireRequest({})), '5 not_found: no such instance');
  assert.match(`${await statusOf(peers.wireRequest({ callId: -1 }))}`, /^3 .*call id/);
});

const stopping = suite('when a server stops');

stopping('calls in progress are answered and new calls refused', async () => {
  const answers: (() => void)[] = [];
  const ask = () =>
    new Promise<ReturnType<typeof peers.engineAnswer>>((resolve) => {
      answers.push(() => resolve(peers.engineAnswer('ok')));
    });
  const server = await served({ ask }, 2_000);
  await using edge = new FrameClient(engineProtocol, { address: server.address });
  await edge.ready();
  const asked = edge.ask(peers.engineCall());
  await peers.eventually('the call is in progress', () => answers.length === 1);
  const stopped = server[Symbol.asyncDispose]();
  const refused = peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall())));
  assert.is(refused, 'service_unavailable shutting_down known');
  for (const answer of answers) answer();
  assert.is(peers.bodyOf(await asked), 'ok');
  await stopped;
  assert.is(answers.length, 1);
});

stopping('the server waits for calls in progress for at most its grace period', async () => {
  let atWork = 0;
  const ask = () => {
    atWork += 1;
    return new Promise<never>(() => undefined);
  };
  const server = await served({ ask }, 50);
  await using edge = new FrameClient(engineProtocol, { address: server.address });
  await edge.ready();
  const asked = peers.faultOf(edge.ask(peers.engineCall()));
  await peers.eventually('the call is in progress', () => atWork === 1);
  const startedMs = performance.now();
  await server[Symbol.asyncDispose]();
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs > 40 && tookMs < 5_000, `${tookMs} ms`);
  assert.is(peers.verdictOf(await asked), 'service_unavailable engine_unavailable unknown');
  assert.ok(performance.now() - startedMs < 5_000, 'the edge is notified immediately');
});

const taken = suite('a server whose port is in use');

taken('fails with an error and does not hang', async () => {
  await using server = await served(obliging);
  const second = serveGrpc({ listen: server.address, services: [] });
  const error = await second.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.instance(error, Error);
});

strange.run();
tool.run();
stopping.run();
taken.run();
