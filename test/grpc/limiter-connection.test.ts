import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault, type ShardOwner } from '#errors/fault';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import type { LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';
import * as peers from '#test/grpc/wire-peers';

const LISTEN = '127.0.0.1:0';
const UNUSED = '127.0.0.1:1';

const SETTLE: LimiterCall = {
  kind: 'settle',
  accountId: 'a',
  callId: 1,
  callTag: 0,
  cyclesUsed: 0,
};
const UNKNOWN_KEY: LimiterAnswer = { verdict: 'unknown_key', allowance: undefined };

/** A `recover` function that returns `outcome` for every call and records the fault of the call. */
function recovery(outcome: Promise<LimiterAnswer> | undefined) {
  const faults: Fault[] = [];
  const recover = (_call: LimiterCall, fault: Fault) => {
    faults.push(fault);
    return outcome;
  };
  return { faults, recover };
}

/** A limiter that accepts calls and never answers. */
function mute() {
  const path = '/identity_engine.v1.Limiter/Exchange';
  return peers.rawEngine((stream) => void stream.resume(), { path });
}

const failing = suite('when a recoverable call to a limiter fails');

failing(
  'the call gets the outcome of the recovery, which receives the owner of the account',
  async () => {
    const owner: ShardOwner = { incarnation: 'inc_2', address: 'elsewhere:1', epoch: 3 };
    const refusing = frameService(limiterProtocol, {
      ask() {
        throw new Fault('service_unavailable', 'not here', { reason: 'not_owner', owner });
      },
    });
    await using server = await serveGrpc({ listen: LISTEN, services: [refusing] });
    await using edge = new FrameClient(limiterProtocol, {
      address: server.address,
      timeoutMs: 2_000,
    });
    await edge.ready();
    assert.ok(edge.isOpen);
    const { faults, recover } = recovery(Promise.resolve(UNKNOWN_KEY));
    assert.is(await edge.askOr(SETTLE, recover), UNKNOWN_KEY);
    const [fault] = faults;
    assert.is(peers.verdictOf(fault), 'service_unavailable not_owner known');
    assert.equal(fault?.owner, owner);
  },
);

failing(
  'a call that could not be sent is recovered too, and fails if the recovery has no outcome',
  async () => {
    await using edge = new FrameClient(limiterProtocol, { address: UNUSED });
    assert.not.ok(edge.isOpen);
    const { faults, recover } = recovery(undefined);
    const fault = await peers.faultOf(edge.askOr(SETTLE, recover));
    assert.is(peers.verdictOf(fault), 'service_unavailable limiter_unavailable known');
    assert.equal(faults, [fault]);
  },
);

const hurried = suite('when a call has its own time-out');

hurried('the call ends after its own time-out', async () => {
  await using silent = await mute();
  await using edge = new FrameClient(limiterProtocol, {
    address: silent.address,
    timeoutMs: 30_000,
  });
  await edge.ready();
  const startedMs = performance.now();
  const fault = await peers.faultOf(edge.ask(SETTLE, { timeoutMs: 50 }));
  const tookMs = performance.now() - startedMs;
  assert.is(peers.verdictOf(fault), 'service_unavailable limiter_unavailable unknown');
  assert.ok(tookMs > 45 && tookMs < 5_000, `${tookMs} ms`);
});

hurried('a call with a longer time-out ends no later than other calls', async () => {
  await using silent = await mute();
  await using edge = new FrameClient(limiterProtocol, { address: silent.address, timeoutMs: 50 });
  await edge.ready();
  const startedMs = performance.now();
  await peers.faultOf(edge.ask(SETTLE, { timeoutMs: 30_000 }));
  assert.ok(performance.now() - startedMs < 5_000);
});

for (const group of [failing, hurried]) group.run();
