import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { NodePull, type Pulled, RecentMessages } from '#bus/node-pull';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const textsOf = ({ messages }: Pulled) =>
  messages.map(({ message }) => Buffer.from(message).toString());

const kept = suite('recent messages');

kept('are those after a position, or of the last 1.5 s without a known position', () => {
  const clock = new ManualClock();
  const recent = new RecentMessages(clock);
  for (const text of ['a', 'b', 'c']) {
    recent.add('s', bytes(text));
    clock.advance(1_000);
  }
  assert.equal(textsOf(recent.since(1)), ['b', 'c']);
  assert.equal(textsOf(recent.since(0)), ['c']);
  // Catches a caller that never hears a node again after the restart of the node.
  assert.equal(textsOf(recent.since(900)), ['c']);
  assert.is(recent.since(3).last, 3);
});

kept('are bounded by age and by size', () => {
  const clock = new ManualClock();
  const recent = new RecentMessages(clock);
  recent.add('s', bytes('old'));
  clock.advance(5_001);
  recent.add('s', bytes('new'));
  assert.equal(textsOf(recent.since(1)), ['new']);
  for (let count = 0; count < 5; count += 1) recent.add('s', new Uint8Array(60_000));
  assert.is(recent.since(1).messages.length, 3);
});

/** A process that pulls from two nodes. */
function newScene() {
  const clock = new ManualClock();
  const nodes = new Map(['a:1', 'b:1'].map((address) => [address, new RecentMessages(clock)]));
  const scene = { isAway: true, heard: [] as string[], asked: 0 };
  const pull = new NodePull({
    clock,
    isAway: () => scene.isAway,
    addresses: () => ['a:1', 'b:1'],
    pull: async (address, after) => {
      scene.asked += 1;
      const found = nodes.get(address)?.since(after);
      if (found === undefined) throw new Error('no answer');
      return found;
    },
    receive: (_subject, message) => void scene.heard.push(Buffer.from(message).toString()),
  });
  return {
    scene,
    nodes,
    pull,
    async pass(ms: number): Promise<void> {
      clock.advance(ms);
      await turnOfEvents();
    },
  };
}

const pulled = suite('messages of nodes while the bus is away');

pulled('arrive once, and from each node that answers', async () => {
  const { scene, nodes, pull, pass } = newScene();
  nodes.get('a:1')?.add('s', bytes('one'));
  await pass(500);
  nodes.get('a:1')?.add('s', bytes('two'));
  nodes.delete('b:1');
  await pass(500);
  await pass(500);
  assert.equal(scene.heard, ['one', 'two']);
  assert.ok(pull.isAnswered);
  nodes.clear();
  for (let step = 0; step < 4; step += 1) await pass(500);
  assert.not(pull.isAnswered);
  pull[Symbol.dispose]();
});

pulled('are not pulled while the bus is connected', async () => {
  const { scene, pull, pass } = newScene();
  scene.isAway = false;
  await pass(2_000);
  assert.is(scene.asked, 0);
  assert.not(pull.isAnswered);
  pull[Symbol.dispose]();
  scene.isAway = true;
  await pass(2_000);
  assert.is(scene.asked, 0);
});

for (const one of [kept, pulled]) one.run();
