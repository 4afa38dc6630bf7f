import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineCall, EngineClient } from '#grpc/engine-messages';
import { FrameClient } from '#grpc/frame-client';
import { type FrameServiceOptions, frameService } from '#grpc/frame-server';
import { EngineReplyFrame, EngineRequestFrame } from '#grpc/gen/identity_engine/v1/engine';
import { serveGrpc } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import type { LimiterClient } from '#grpc/limiter-messages';
import * as peers from '#test/grpc/wire-peers';

const LISTEN = '127.0.0.1:0';

/** An engine whose answers the test controls. */
function heldEngine() {
  const held: { call: EngineCall; answer: (body: string) => void }[] = [];
  const engine: EngineClient = {
    ask: (call) =>
      new Promise((resolve) => {
        held.push({ call, answer: (body) => resolve(peers.engineAnswer(body)) });
      }),
  };
  return { engine, held };
}

async function served(engine: EngineClient, options: FrameServiceOptions = {}) {
  return await serveGrpc({
    listen: LISTEN,
    services: [frameService(engineProtocol, engine, options)],
    stopGraceMs: 100,
  });
}

const talking = suite('when an edge and an engine share a stream');

talking('answers that arrive in another order than the calls reach the right calls', async () => {
  const { engine, held } = heldEngine();
  await using server = await served(engine);
  await using edge = new FrameClient(engineProtocol, { address: server.address });
  await edge.ready();
  const asked = Array.from({ length: 500 }, async (_, index) => {
    const answer = await edge.ask(peers.engineCall({ callId: index }));
    return peers.bodyOf(answer) === `answer ${index}`;
  });
  await peers.eventually('all calls arrive', () => held.length === 500);
  const shuffled = held.map((value, index) => ({ value, key: (index * 7_919) % 500 }));
  shuffled.sort((a, b) => a.key - b.key);
  for (const [turn, { value }] of shuffled.entries()) {
    value.answer(`answer ${value.call.callId}`);
    if (turn % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok((await Promise.all(asked)).every(Boolean));
});

talking('immediate answers arrive in the order of the calls', async () => {
  await using server = await served({ ask: ({ callId }) => peers.engineAnswer(`${callId}`) });
  await using edge = new FrameClient(engineProtocol, { address: server.address });
  await edge.ready();
  const order: string[] = [];
  await Promise.all(
    Array.from({ length: 100 }, async (_, callId) => {
      order.push(peers.bodyOf(await edge.ask(peers.engineCall({ callId }))));
    }),
  );
  assert.equal(
    order,
    Array.from({ length: 100 }, (_, callId) => `${callId}`),
  );
});

talking('the calls of one turn are sent in one frame', async () => {
  const frames: number[] = [];
  await using server = await peers.rawEngine((stream) => {
    stream.on('data', (frame: Buffer) => {
      const { messages } = EngineRequestFrame.decode(frame);
      frames.push(messages.length);
      stream.write(peers.replyFrame(...messages.map(({ id }): [number, string] => [id, 'ok'])));
    });
  });
  await using edge = new FrameClient(engineProtocol, { address: server.address });
  await edge.ready();
  await Promise.all(Array.from({ length: 50 }, () => edge.ask(peers.engineCall())));
  assert.equal(frames, [50]);
});

talking(
  'the answers of one turn are sent in one frame, whether immediate or deferred',
  async () => {
    const { engine, held } = heldEngine();
    await using server = await served({
      ask: (call) => (call.isReplayOnly ? peers.engineAnswer('now') : engine.ask(call)),
    });
    using edge = peers.rawEdge(server.address);
    const frames: number[] = [];
    edge.stream.on('data', (frame: Buffer) => {
      frames.push(EngineReplyFrame.decode(frame).messages.length);
    });
    const requests = (replayOnly: boolean, from: number) =>
      Array.from({ length: 40 }, (_, id) => peers.wireRequest({ id: from + id, replayOnly }));
    edge.stream.write(peers.requestFrame(...requests(true, 0)));
    await peers.eventually('the first frame', () => frames.length === 1);
    edge.stream.write(peers.requestFrame(...requests(false, 100)));
    await peers.eventually('the calls are held', () => held.length === 40);
    for (const { answer } of held) answer('later');
    await peers.eventually('the second frame', () => frames.length === 2);
    assert.equal(frames, [40, 40]);
  },
);

talking(
  'a fault arrives unchanged, and a bug becomes an internal error without its text',
  async () => {
    const refusal = new Fault('conflict', 'it has moved on', {
      reason: 'version_mismatch',
      field: 'If-Match',
      retryAfterS: 3,
      isOutcomeUnknown: true,
    });
    const bugs: unknown[] = [];
    const secret = new Error('secret');
    const unwell = new Fault('service_unavailable', 'not now', { cause: secret });
    await using server = await served(
      {
        ask({ callId }) {
          if (callId === 1) throw refusal;
          if (callId === 2) return Promise.reject(refusal);
          throw callId === 3 ? secret : unwell;
        },
      },
      { reportBug: (bug) => bugs.push(bug) },
    );
    await using edge = new FrameClient(engineProtocol, { address: server.address });
    await edge.ready();
    for (const callId of [1, 2]) {
      const fault = await peers.faultOf(edge.ask(peers.engineCall({ callId })));
      for (const field of ['code', 'message', 'reason', 'field', 'retryAfterS'] as const) {
        assert.is(fault[field], refusal[field]);
      }
      assert.is(fault.isOutcomeUnknown, true);
    }
    const bug = await peers.faultOf(edge.ask(peers.engineCall({ callId: 3 })));
    assert.is(bug.code, 'internal');
    assert.not.match(bug.message, 'secret');
    // The caller's process logs the refusal, but cannot log its cause.
    await peers.faultOf(edge.ask(peers.engineCall({ callId: 4 })));
    assert.equal(bugs, [secret, unwell]);
  },
);

talking('a call that gets no answer before its deadline ends with unknown outcome', async () => {
  const { engine, held } = heldEngine();
  await using server = await served(engine);
  await using edge = new FrameClient(engineProtocol, { address: server.address });
  await edge.ready();
  const seen: string[] = [];
  await using watched = new FrameClient(engineProtocol, {
    address: server.address,
    observeCall: (seconds, outcome) => seen.push(`${outcome} ${seconds >= 0.05}`),
  });
  await watched.ready();
  const deadlineAtMs = Date.now() + 250;
  const late = watched.ask(peers.engineCall({ deadlineAtMs }));
  const verdict = peers.verdictOf(await peers.faultOf(late));
  assert.is(verdict, 'service_unavailable deadline_exceeded unknown');
  assert.equal(seen, ['service_unavailable true']);
  assert.ok(Math.abs((held[0]?.call.deadlineAtMs ?? 0) - deadlineAtMs) < 5_000);
  held[0]?.answer('too late');
  const next = watched.ask(peers.engineCall());
  await peers.eventually('the next call arrives', () => held.length === 2);
  held[1]?.answer('in time');
  assert.is(peers.bodyOf(await next), 'in time');
});

talking('a call beyond its deadline is refused and not sent', async () => {
  const { engine, held } = heldEngine();
  await using server = await served(engine);
  await using edge = new FrameClient(engineProtocol, { address: server.address });
  await edge.ready();
  const call = peers.engineCall({ deadlineAtMs: Date.now() - 1 });
  const verdict = peers.verdictOf(await peers.faultOf(edge.ask(call)));
  assert.is(verdict, 'service_unavailable deadline_exceeded known');
  assert.is(held.length, 0);
});

talking('calls above the limit of the client are refused immediately', async () => {
  const { engine, held } = heldEngine();
  await using server = await served(engine);
  await using edge = new FrameClient(engineProtocol, {
    address: server.address,
    callsInFlightMax: 4,
  });
  await edge.ready();
  const asked = Array.from({ length: 4 }, () => edge.ask(peers.engineCall()));
  const verdict = peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall())));
  assert.is(verdict, 'service_unavailable overloaded known');
  await peers.eventually('the other calls arrive', () => held.length === 4);
  for (const { answer } of held) answer('ok');
  await Promise.all(asked);
});

talking('calls above the limit of the server are refused by the server', async () => {
  const { engine, held } = heldEngine();
  await using server = await served(engine, { callsInFlightMax: 2 });
  await using edge = new FrameClient(engineProtocol, { address: server.address });
  await edge.ready();
  const asked = Array.from({ length: 3 }, () => edge.ask(peers.engineCall()));
  const verdict = peers.verdictOf(await peers.faultOf(Promise.race(asked)));
  assert.is(verdict, 'service_unavailable overloaded known');
  for (const { answer } of held) answer('ok');
  assert.is(
    (await Promise.allSettled(asked)).filter(({ status }) => status === 'fulfilled').length,
    2,
  );
});

talking(
  'a call or answer that cannot be encoded affects no other message of its frame',
  async () => {
    const bugs: unknown[] = [];
    await using server = await served(
      {
        ask: ({ callId }) => ({ ...peers.engineAnswer('ok'), cycles: callId === 2 ? 0.5 : 1 }),
      },
      { reportBug: (bug) => bugs.push(bug) },
    );
    await using edge = new FrameClient(engineProtocol, { address: server.address });
    await edge.ready();
    const timestampMs = undefined;
    const halfMode = { mode: 0.5, signal: 0, confidence: 1, contextJson: '', timestampMs };
    const flags = { isBatch: false, isEveryStateWanted: false };
    const command = { kind: 'process', observations: [halfMode], ...flags } as const;
    const [first, broken, unwritable, last] = await Promise.all([
      edge.ask(peers.engineCall({ callId: 1 })),
      peers.faultOf(edge.ask(peers.engineCall({ callId: 2 }))),
      peers.faultOf(edge.ask(peers.engineCall({ command }))),
      edge.ask(peers.engineCall({ callId: 3 })),
    ]);
    assert.is(peers.bodyOf(first), 'ok');
    assert.is(peers.verdictOf(broken), 'internal undefined unknown');
    assert.is(peers.verdictOf(unwritable), 'internal undefined known');
    assert.is(peers.bodyOf(last), 'ok');
    assert.is(bugs.length, 1);
  },
);

talking('the limiter is called and answers in the same way', async () => {
  const allowance = {
    requestsPerMinute: 60,
    requestsRemaining: 59,
    windowResetAtS: 1_800_000_000,
    cyclesPerMonth: 5_000_000_000,
    cyclesRemaining: 4_999_999_999,
    monthResetAtS: 1_800_000_000,
    instances: 1_000,
    modelVersion: undefined,
  };
  const target: LimiterClient = {
    ask: ({ kind }) => ({ verdict: kind === 'admit' ? 'admitted' : 'settled', allowance }),
  };
  const service = frameService(limiterProtocol, target);
  await using server = await serveGrpc({ listen: LISTEN, services: [service], stopGraceMs: 100 });
  await using limiter = new FrameClient(limiterProtocol, { address: server.address });
  await limiter.ready();
  const settle = {
    kind: 'settle',
    accountId: 'a',
    callId: 2 ** 52 - 1,
    callTag: 2 ** 52 - 1,
    cyclesUsed: 1,
  } as const;
  assert.equal(await limiter.ask(settle), { verdict: 'settled', allowance });
});

talking.run();
