import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import { limiterProtocol } from '#grpc/limiter-codec';
import type { AdmitCall, LimiterClient, SettleCall } from '#grpc/limiter-messages';
import { RoutedLimiter } from '#routing/routed-service';
import * as peers from '#test/grpc/wire-peers';
import { passing, realRouting, SHARDS } from '#test/routing/routing-fakes';

/** Time-out long enough for a first connection on a busy machine, in milliseconds. */
const UNHURRIED_MS = 2_000;

const ADMIT: AdmitCall = {
  kind: 'admit',
  accountId: 'acct_0',
  keyDigest: 'digest',
  callId: 7,
  callTag: 0,
  scope: 'read',
  cycles: 0,
};

const SETTLE: SettleCall = {
  kind: 'settle',
  accountId: 'acct_0',
  callId: 7,
  callTag: 0,
  cyclesUsed: 0,
};

/** A minimal limiter process. */
function served(limiter: LimiterClient) {
  const services = [frameService(limiterProtocol, limiter)];
  return serveGrpc({ listen: '127.0.0.1:0', services, stopGraceMs: 200 });
}

/** A router over real connections. `retries` has the reasons of its retries. */
function routerUnderTest(timeoutMs: number) {
  const { owners, retries, ports } = realRouting();
  const routed = new RoutedLimiter({
    ...ports,
    connect: (address) => new FrameClient(limiterProtocol, { address, timeoutMs }),
    timeoutMs,
  });
  return { owners, routed, retries };
}

const moved = suite('when a limiter refuses an account that has moved to another limiter');

moved('the call is answered by the other limiter, which the refusal names', async () => {
  const { owners, routed, retries } = routerUnderTest(UNHURRIED_MS);
  await using _ = routed;
  const done: string[] = [];
  await using second = await served({
    ask({ kind }) {
      done.push(kind);
      return { verdict: 'unknown_key', allowance: undefined };
    },
  });
  const owner = { incarnation: 'inc_2', address: second.address, epoch: 2 };
  let refusedCalls = 0;
  await using first = await served({
    ask() {
      refusedCalls += 1;
      throw passing('not_owner', { owner });
    },
  });
  owners.learn(0, { incarnation: 'inc_1', address: first.address, epoch: 1 });
  assert.is((await routed.ask(ADMIT)).verdict, 'unknown_key');
  assert.equal(owners.ownerOf(0), owner);
  assert.ok(retries.includes('not_owner'));
  assert.is(refusedCalls, 1);
  await routed.ask(SETTLE);
  assert.equal(done, ['admit', 'settle']);
  assert.is(refusedCalls, 1, 'the new owner is called directly');
});

const silent = suite('when a limiter accepts calls and never answers');

silent('each call is sent once, and ends with unknown outcome after its time-out', async () => {
  let framesTaken = 0;
  const path = '/identity_engine.v1.Limiter/Exchange';
  const count = (): void => {
    framesTaken += 1;
  };
  await using mute = await peers.rawEngine((stream) => void stream.on('data', count), { path });
  const { owners, routed, retries } = routerUnderTest(100);
  await using _ = routed;
  for (let shard = 0; shard < SHARDS; shard += 1) {
    owners.learn(shard, { incarnation: 'inc_1', address: mute.address, epoch: 1 });
  }
  await routed.ready();
  for (const call of [ADMIT, SETTLE]) {
    const startedMs = performance.now();
    const fault = await peers.faultOf((async () => routed.ask(call))());
    assert.is(peers.verdictOf(fault), 'service_unavailable limiter_unavailable unknown');
    assert.ok(performance.now() - startedMs > 95);
  }
  assert.is(framesTaken, 2);
  assert.equal(retries, []);
});

for (const group of [moved, silent]) group.run();
