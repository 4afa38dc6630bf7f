import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adminService } from '#grpc/admin';
import { engineProtocol } from '#grpc/engine-codec';
import type { EngineClient } from '#grpc/engine-messages';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import { inProcessPeer } from '#routing/peer';
import { RoutedEngine } from '#routing/routed-service';
import { systemClock } from '#stdlib/clock';
import * as peers from '#test/grpc/wire-peers';
import { FakeOwners, passing, realRouting, SHARDS, shardOf } from '#test/routing/routing-fakes';

const LISTEN = '127.0.0.1:0';

/** The service that reports the identity of a process. */
function nodeOf(incarnation: string) {
  const drain = async () => ({ incarnation, openShards: 0 });
  return adminService({ identity: () => incarnation, drain });
}

/** A minimal engine process. */
async function served(engine: EngineClient, incarnation = 'inc_1', stopGraceMs = 200) {
  const services = [frameService(engineProtocol, engine), nodeOf(incarnation)];
  return await serveGrpc({ listen: LISTEN, services, stopGraceMs });
}

/** A router over real connections. `retries` has the reasons of its retries. */
function routerUnderTest() {
  const { owners, retries, ports } = realRouting();
  const connect = (address: string) => new FrameClient(engineProtocol, { address });
  const routed = new RoutedEngine({ ...ports, connect });
  return { owners, routed, retries };
}

const closing = suite('when one of two engines closes');

closing('no call fails, and each call is executed exactly once', async () => {
  const { owners, routed, retries } = routerUnderTest();
  await using _ = routed;
  const done: number[] = [];
  let isFirstOwner = true;
  await using second = await served({
    ask({ callId }) {
      if (isFirstOwner) throw passing('not_owner');
      done.push(callId);
      return peers.engineAnswer('second');
    },
  });
  const first = await served({
    async ask({ callId }) {
      if (!isFirstOwner) {
        const owner = { incarnation: 'inc_2', address: second.address, epoch: 2 };
        throw passing('not_owner', { owner });
      }
      done.push(callId);
      return peers.engineAnswer('first');
    },
  });
  owners.learn(0, { incarnation: 'inc_1', address: first.address, epoch: 1 });

  let lastCallId = 0;
  let isOver = false;
  const bodies = new Set<string>();
  const caller = async (): Promise<void> => {
    while (!isOver) {
      lastCallId += 1;
      const call = peers.engineCall({ instanceId: 'inst_0', callId: lastCallId });
      bodies.add(peers.bodyOf(await routed.ask(call)));
    }
  };
  const callers = Array.from({ length: 8 }, caller);
  await peers.eventually('the first engine serves', () => done.length > 200);
  isFirstOwner = false;
  await peers.eventually('the first engine has named the second', () =>
    retries.includes('not_owner'),
  );
  await first[Symbol.asyncDispose]();
  const before = done.length;
  await peers.eventually('the second engine serves', () => done.length > before + 200);
  isOver = true;
  await Promise.all(callers);

  assert.equal([...bodies], ['first', 'second']);
  assert.is(done.length, lastCallId);
  assert.is(new Set(done).size, lastCallId);
  assert.ok(retries.length > 0);
  assert.equal(owners.ownerOf(0)?.address, second.address);
});

closing('calls wait until the router learns the new owner', async () => {
  const { owners, routed } = routerUnderTest();
  await using _ = routed;
  const first = await served({ ask: () => peers.engineAnswer('first') }, 'inc_1', 0);
  owners.learn(0, { incarnation: 'inc_1', address: first.address, epoch: 1 });
  const call = peers.engineCall({ instanceId: 'inst_0' });
  assert.is(peers.bodyOf(await routed.ask(call)), 'first');
  await first[Symbol.asyncDispose]();
  await using second = await served({ ask: () => peers.engineAnswer('second') });
  const waiting = routed.ask(peers.engineCall({ instanceId: 'inst_0' }));
  await peers.eventually('the call waits', () => routed.totals.waitingCalls === 1);
  owners.learn(0, { incarnation: 'inc_2', address: second.address, epoch: 2 });
  assert.is(peers.bodyOf(await waiting), 'second');
});

const own = suite('when a process is itself the owner');

own('the engine of this process is called without a connection', async () => {
  const owners = new FakeOwners();
  const engine: EngineClient = { ask: () => peers.engineAnswer('mine') };
  await using routed = new RoutedEngine({
    routes: owners,
    shardCount: SHARDS,
    shardOf,
    clock: systemClock,
    random: Math.random,
    connect: () => inProcessPeer(engine, systemClock),
  });
  owners.learn(0, { incarnation: 'inc_1', address: 'self', epoch: 1 });
  const answer = routed.ask(peers.engineCall({ instanceId: 'inst_0' }));
  assert.not.instance(answer, Promise);
});

for (const group of [closing, own]) group.run();
