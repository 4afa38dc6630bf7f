import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DEADLINE_SWEEP_MS } from '#grpc/call-bounds';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineAnswer, EngineCall } from '#grpc/engine-messages';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { EngineReplyFrame, EngineRequestFrame } from '#grpc/gen/identity_engine/v1/engine';
import { serveGrpc } from '#grpc/grpc-server';
import * as peers from '#test/grpc/wire-peers';
import { ManualClock } from '#test/support/manual-clock';

/**
 * Number of 4 kB calls that do not fit into the buffers of a stream: 16 frames of 256 KiB and one
 * flow-control window.
 */
const CALLS = 2_400;
const CALL_BYTES = 4_000;

/** An engine whose stream reads nothing until the test allows it, and then answers everything. */
async function reluctantEngine() {
  let read = (): void => undefined;
  const received: number[] = [];
  const server = await peers.rawEngine((stream) => {
    read = () => {
      stream.on('data', (frame: Buffer) => {
        const { messages } = EngineRequestFrame.decode(frame);
        for (const { callId } of messages) received.push(callId);
        stream.write(peers.replyFrame(...messages.map(({ id }): [number, string] => [id, 'ok'])));
      });
    };
  });
  return { server, received, read: () => read() };
}

function callsTo(edge: { ask(call: EngineCall): Promise<EngineAnswer> }): Promise<unknown>[] {
  return Array.from({ length: CALLS }, (_, callId) =>
    edge.ask({ ...peers.largeCall(CALL_BYTES), callId }),
  );
}

const slow = suite('when a peer does not read');

slow(
  'calls above the limit are refused, and all other calls are answered after the peer reads',
  async () => {
    const { server, received, read } = await reluctantEngine();
    await using _server = server;
    await using edge = new FrameClient(engineProtocol, {
      address: server.address,
      callsInFlightMax: CALLS,
    });
    await edge.ready();
    const asked = callsTo(edge);
    const beyond = peers.verdictOf(await peers.faultOf(edge.ask(peers.engineCall())));
    assert.is(beyond, 'service_unavailable overloaded known');
    read();
    await Promise.all(asked);
    assert.equal(
      received,
      Array.from({ length: CALLS }, (_, callId) => callId),
    );
  },
);

slow('unsent calls end as not executed when the peer dies', async () => {
  const { server } = await reluctantEngine();
  await using edge = new FrameClient(engineProtocol, {
    address: server.address,
    callsInFlightMax: CALLS,
  });
  await edge.ready();
  const asked = callsTo(edge).map(peers.faultOf);
  await peers.endOfTurn();
  await server[Symbol.asyncDispose]();
  const faults = await Promise.all(asked);
  const unknown = faults.filter(({ isOutcomeUnknown }) => isOutcomeUnknown).length;
  assert.ok(unknown > 0 && unknown < CALLS, `${unknown} of ${CALLS} passed to the stream`);
  const sentFirst = faults.findIndex(({ isOutcomeUnknown }) => !isOutcomeUnknown);
  assert.is(sentFirst, unknown, 'exactly the oldest calls were sent');
});

slow('a call that cannot be sent before its deadline is never sent', async () => {
  const { server, received, read } = await reluctantEngine();
  await using _server = server;
  const clock = new ManualClock();
  await using edge = new FrameClient(engineProtocol, {
    address: server.address,
    clock,
    callsInFlightMax: 2 * CALLS,
  });
  await edge.ready();
  const asked = callsTo(edge);
  await peers.endOfTurn();
  const hasty = peers.engineCall({ callId: 77_777, deadlineAtMs: clock.wallMs() + 30 });
  const refused = peers.faultOf(edge.ask(hasty));
  clock.advance(30 + DEADLINE_SWEEP_MS);
  const verdict = peers.verdictOf(await refused);
  assert.is(verdict, 'service_unavailable engine_unavailable known');
  read();
  await Promise.all(asked);
  assert.not.ok(received.includes(77_777));
});

slow('a server stops reading calls from a client that does not read answers', async () => {
  const total = 4_000;
  const body = 'x'.repeat(20_000);
  let handled = 0;
  const service = frameService(engineProtocol, {
    ask() {
      handled += 1;
      return peers.engineAnswer(body);
    },
  });
  const server = await serveGrpc({ listen: '127.0.0.1:0', services: [service], stopGraceMs: 100 });
  await using _server = server;
  using edge = peers.rawEdge(server.address);
  for (let id = 0; id < total; id += 20) {
    const requests = Array.from({ length: 20 }, (_, n) => peers.wireRequest({ id: id + n }));
    edge.stream.write(peers.requestFrame(...requests));
  }
  let before = -1;
  await peers.eventually('the server has stopped taking calls', () => {
    const isStopped = handled > 0 && handled === before;
    before = handled;
    return isStopped;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(handled < total / 2, `${handled} calls answered although nobody reads`);
  const answered = new Set<number>();
  edge.stream.on('data', (frame: Buffer) => {
    for (const { id } of EngineReplyFrame.decode(frame).messages) answered.add(id);
  });
  await peers.eventually('every call is answered', () => answered.size === total);
});

slow.run();
