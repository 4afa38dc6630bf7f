import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Probed } from '#cluster/failure-evidence';
import { type ConnectionEnd, type Dialed, Lifelines } from '#cluster/lifelines';
import { FakeLifelines } from '#test/support/fake-lifelines';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

const ADDRESS = 'a:1';

/** What connections to the address find: the owner, another incarnation, or a failure. */
type Found = 'owner' | 'other' | Exclude<Dialed['kind'], 'identified'>;

/** Lifelines to an owner. Connections find what `find` has set; the last result repeats. */
function newScene({ isDirect = true } = {}) {
  const clock = new ManualClock();
  const fake = new FakeLifelines();
  const found: Found[] = ['owner'];
  let dials = 0;
  const dial = async (): Promise<Dialed> => {
    dials += 1;
    const now = (found.length > 1 ? found.shift() : found[0]) ?? 'silent';
    if (now === 'owner' || now === 'other') return fake.identified(ADDRESS, now, isDirect);
    return { kind: now };
  };
  const lifelines = new Lifelines(dial, clock);
  lifelines.keep(new Set(['owner', 'another']));
  const find = (...next: readonly Found[]): void => void found.splice(0, found.length, ...next);
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      await turnOfEvents();
      clock.advance(50);
    }
    await turnOfEvents();
  };
  return {
    ...{ lifelines, fake, find, pass },
    dials: () => dials,
    probe: (isHeard = true): Promise<Probed> => lifelines.probe('owner', ADDRESS, isHeard),
    /** Ends the open lifelines; connections then find `next`. */
    async end(how: ConnectionEnd, ...next: readonly Found[]): Promise<void> {
      find(...next);
      fake.end(ADDRESS, how);
      await pass(500);
    },
  };
}

const proof = suite('a process');

proof('has ended if its lifeline got a FIN and its address then refuses', async () => {
  const { probe, end } = newScene();
  assert.equal(await probe(), { kind: 'listening' });
  await end('closed', 'refused');
  assert.equal(await probe(), { kind: 'ended' });
});

proof('has ended although its address accepted one more connection', async () => {
  const { probe, end } = newScene();
  await probe();
  await end('closed', 'broken', 'broken', 'refused');
  assert.equal(await probe(), { kind: 'ended' });
});

// A network policy that rejects connections.
proof('has not ended because its address refuses', async () => {
  const { probe, end, lifelines } = newScene();
  await probe();
  await end('broken', 'refused');
  assert.equal(await probe(), { kind: 'refused' });
  assert.equal(await lifelines.probe('another', ADDRESS, true), { kind: 'refused' });
});

proof('has not ended because a proxy sent a FIN and refuses', async () => {
  const { probe, end } = newScene({ isDirect: false });
  await probe();
  await end('closed', 'refused');
  assert.equal(await probe(), { kind: 'refused' });
});

proof('has not ended because it closed its lifeline', async () => {
  const { probe, end, fake } = newScene();
  await probe();
  await end('closed', 'owner');
  assert.equal(await probe(), { kind: 'listening' });
  assert.is(fake.countAt(ADDRESS), 1);
});

// A refusal long after the FIN may come from a policy.
proof('has not ended if its address refuses only two seconds later', async () => {
  const { probe, end, pass } = newScene();
  await probe();
  await end('closed', 'silent');
  await pass(2_000);
  await end('closed', 'refused');
  assert.equal(await probe(), { kind: 'refused' });
});

proof('has another incarnation if a direct connection finds one', async () => {
  const direct = newScene();
  await direct.probe();
  await direct.end('closed', 'other');
  assert.equal(await direct.probe(), { kind: 'answered', incarnation: 'other' });
  assert.is(direct.fake.countAt(ADDRESS), 0);
  const proxied = newScene({ isDirect: false });
  await proxied.end('closed', 'other');
  assert.equal(await proxied.probe(), { kind: 'listening' });
});

const cost = suite('a lifeline');

cost('replaces connections while heartbeats arrive, and no longer', async () => {
  const { probe, dials, fake } = newScene();
  for (let round = 0; round < 3; round += 1) await probe();
  assert.is(dials(), 1);
  assert.equal(await probe(false), { kind: 'listening' });
  assert.equal([dials(), fake.countAt(ADDRESS)], [2, 1]);
});

// Catches a lifeline that a machine without power leaves open beside its next process.
proof('has not another incarnation while its lifeline is open', async () => {
  const { probe, find } = newScene();
  await probe();
  find('other');
  assert.equal(await probe(false), { kind: 'listening' });
});

cost('is opened in the background, at most once a second', async () => {
  const { lifelines, fake, find, dials, pass } = newScene();
  find('silent');
  for (let round = 0; round < 8; round += 1) {
    lifelines.open('owner', ADDRESS);
    await pass(250);
  }
  assert.is(dials(), 2);
  find('owner');
  lifelines.open('owner', ADDRESS);
  await pass(250);
  assert.is(fake.countAt(ADDRESS), 1);
});

// Catches a connection that nobody closes.
cost('is not kept if its owner or the node is gone when the connection succeeds', async () => {
  const { lifelines, probe, fake, pass } = newScene();
  lifelines.open('owner', ADDRESS);
  lifelines[Symbol.dispose]();
  await pass(50);
  await probe();
  assert.is(fake.countAt(ADDRESS), 0);
});

cost('closes when its owner has no more shards', async () => {
  const { probe, lifelines, fake } = newScene();
  await probe();
  lifelines.keep(new Set(['owner']));
  assert.is(fake.countAt(ADDRESS), 1);
  lifelines.keep(new Set());
  assert.is(fake.countAt(ADDRESS), 0);
});

for (const one of [proof, cost]) one.run();
