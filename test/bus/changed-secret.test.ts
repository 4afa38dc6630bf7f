import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inProcessBus } from '#bus/in-process-bus';
import { signedBus } from '#bus/signed-bus';
import { ManualClock } from '#test/support/manual-clock';
import { settable } from '#test/support/settable';
import { SILENT } from '#test/support/test-logger';

const [OLD, NEW] = ['the old secret of a cluster', 'the new secret of a cluster'];

/** Contents of the secret file, step by step. Source: decision 134. */
const STEPS = [[OLD], [OLD, NEW], [NEW, OLD], [NEW]] as const;

const noBug = (error: unknown): void => assert.unreachable(String(error));

/** Two processes on one bus. `dropped` lists the reasons why they dropped messages. */
function newScene() {
  const clock = new ManualClock();
  const wire = inProcessBus({ clock, onBug: noBug });
  const dropped: string[] = [];
  const heard: string[] = [];
  const open = (name: string) => {
    const secrets = settable<readonly string[]>([OLD]);
    const bus = signedBus({
      ...{ bus: wire, clock, secrets, cluster: 'c', onBug: noBug, logger: SILENT },
      onDropped: (reason) => dropped.push(reason),
    });
    bus.subscribe('s', (message) => heard.push(`${name} hears ${Buffer.from(message)}`));
    return { name, bus, secrets };
  };
  const [one, other] = [open('one'), open('other')];
  /** Publishes from both processes. Returns how many messages the two receive in total. */
  const speak = () => {
    for (const { name, bus } of [one, other]) bus.publish('s', Buffer.from(name));
    clock.advance(1);
    return heard.splice(0).length;
  };
  return { one, other, dropped, speak };
}

const changing = suite('two processes whose bus secret changes while they run');

for (const first of ['one', 'other'] as const) {
  changing(`receive each other’s messages at every step if ${first} takes each step first`, () => {
    const scene = newScene();
    const second = first === 'one' ? scene.other : scene.one;
    for (const secrets of STEPS) {
      scene[first].secrets.set(secrets);
      assert.is(scene.speak(), 4, `${secrets} at ${first} only`);
      second.secrets.set(secrets);
      assert.is(scene.speak(), 4, `${secrets} at both`);
    }
    assert.equal(scene.dropped, []);
  });
}

changing('receive no messages from each other when a step is skipped', () => {
  const { one, other, dropped, speak } = newScene();
  one.secrets.set([NEW]);
  assert.is(speak(), 2);
  assert.equal(dropped, ['signature', 'signature']);
  other.secrets.set([NEW]);
  assert.is(speak(), 4);
});

changing.run();
