import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault, type FaultOptions } from '#errors/fault';
import { plainAnswer } from '#grpc/engine-messages';
import { callOf, clusterUnderTest, ownerAt, passing } from '#test/routing/routing-fakes';

/** Doubts that a router reports after an owner ends the first call with `fault`. */
async function doubtsAfter(fault: Fault): Promise<readonly { shard: number; askedMs: number }[]> {
  const cluster = clusterUnderTest();
  const { owners, engines, routed, clock } = cluster;
  owners.learn(0, ownerAt('a'));
  let asked = 0;
  engines.set('a', () => {
    asked += 1;
    if (asked === 1) throw fault;
    return plainAnswer('');
  });
  clock.advance(7);
  const ended = (async () => routed.ask(callOf(clock)))().catch(() => undefined);
  await cluster.pass(100);
  await ended;
  return owners.doubted;
}

const unknown: FaultOptions = { isOutcomeUnknown: true };

const doubted = suite('the owner of a shard');

for (const [name, fault] of [
  ['refuses the shard', passing('not_owner')],
  ['cannot be reached', passing('engine_unavailable')],
  ['is lost during the call', passing('engine_unavailable', unknown)],
  ['shuts down', passing('shutting_down')],
  [
    'is silent',
    new Fault('service_unavailable', 'no answer', { ...unknown, reason: 'deadline_exceeded' }),
  ],
] as const) {
  doubted(`is doubted when it ${name}`, async () => {
    assert.equal(await doubtsAfter(fault), [{ shard: 0, askedMs: 7 }]);
  });
}

doubted(
  'is not doubted when it is overloaded, or when the actor itself refuses the call',
  async () => {
    const overloaded = new Fault('service_unavailable', 'full', { reason: 'overloaded' });
    for (const fault of [
      overloaded,
      new Fault('not_found', 'none'),
      new Fault('internal', 'bug'),
    ]) {
      assert.equal(await doubtsAfter(fault), []);
    }
  },
);

doubted('is doubted after every failed attempt, until another owner is known', async () => {
  const cluster = clusterUnderTest();
  const { owners, engines, routed, clock } = cluster;
  owners.learn(0, ownerAt('a'));
  engines.set('b', () => plainAnswer('from b'));
  const answer = (async () => routed.ask(callOf(clock)))();
  await cluster.pass(500);
  const { length } = owners.doubted;
  assert.ok(length >= 3, `${length} doubts`);
  owners.learn(0, ownerAt('b', 2));
  await cluster.pass(500);
  assert.is((await answer).body, 'from b');
  assert.is(owners.doubted.length, length);
});

doubted.run();
