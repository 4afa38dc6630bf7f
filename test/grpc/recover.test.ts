import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineAnswer, EngineCall } from '#grpc/engine-messages';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import * as peers from '#test/grpc/wire-peers';

const LISTEN = '127.0.0.1:0';
const UNUSED = '127.0.0.1:1';

type Seen = { call: EngineCall; fault: Fault; askedAtMs: number };

/** A `recover` function that returns `outcome` for every call and records its arguments. */
function recovery(outcome: Promise<EngineAnswer> | undefined) {
  const seen: Seen[] = [];
  const recover = (call: EngineCall, fault: Fault, askedAtMs: number) => {
    seen.push({ call, fault, askedAtMs });
    return outcome;
  };
  return { seen, recover };
}

const failing = suite('when a recoverable call fails');

failing(
  'the call gets the outcome of the recovery, which receives the call, its fault and its time',
  async () => {
    const refusal = new Fault('conflict', 'no', { reason: 'deleted' });
    const refusing = frameService(engineProtocol, {
      ask() {
        throw refusal;
      },
    });
    await using server = await serveGrpc({ listen: LISTEN, services: [refusing] });
    await using edge = new FrameClient(engineProtocol, { address: server.address });
    await edge.ready();
    const { seen, recover } = recovery(Promise.resolve(peers.engineAnswer('again')));
    const startedMs = performance.now();
    const call = peers.engineCall();
    assert.is(peers.bodyOf(await edge.askOr(call, recover)), 'again');
    const [heard] = seen;
    assert.is(heard?.call, call);
    assert.is(heard?.fault.reason, 'deleted');
    assert.ok((heard?.askedAtMs ?? 0) >= startedMs && (heard?.askedAtMs ?? 0) <= performance.now());
  },
);

failing('a call that could not be sent also gets the outcome of the recovery', async () => {
  await using edge = new FrameClient(engineProtocol, { address: UNUSED });
  const { seen, recover } = recovery(Promise.resolve(peers.engineAnswer('elsewhere')));
  assert.is(peers.bodyOf(await edge.askOr(peers.engineCall(), recover)), 'elsewhere');
  assert.is(peers.verdictOf(seen[0]?.fault), 'service_unavailable engine_unavailable known');
});

failing('the call fails with its own fault if the recovery returns no outcome', async () => {
  const unknown = 'service_unavailable engine_unavailable unknown';
  const held = await peers.rawEngine(() => undefined);
  await using edge = new FrameClient(engineProtocol, { address: held.address });
  const { seen, recover } = recovery(undefined);
  await edge.ready();
  const lost = peers.faultOf(edge.askOr(peers.engineCall(), recover));
  await peers.endOfTurn();
  await held[Symbol.asyncDispose]();
  assert.is(peers.verdictOf(await lost), unknown);
  const unsent = await peers.faultOf(edge.askOr(peers.engineCall(), recover));
  assert.is(peers.verdictOf(unsent), 'service_unavailable engine_unavailable known');
  assert.is(seen.length, 2);
});

const well = suite('when a recoverable call succeeds');

well('the recovery is not called', async () => {
  const services = [frameService(engineProtocol, { ask: () => peers.engineAnswer('ok') })];
  await using server = await serveGrpc({ listen: LISTEN, services });
  await using edge = new FrameClient(engineProtocol, { address: server.address });
  await edge.ready();
  const { seen, recover } = recovery(undefined);
  assert.is(peers.bodyOf(await edge.askOr(peers.engineCall(), recover)), 'ok');
  assert.equal(seen, []);
  assert.ok(edge.isOpen);
});

for (const group of [failing, well]) group.run();
