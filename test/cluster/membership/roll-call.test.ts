import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inProcessBus } from '#bus/in-process-bus';
import {
  answerRollCalls,
  type CalledRole,
  callRoll,
  presentSubject,
  rollCallSubject,
} from '#cluster/roll-call';
import { ManualClock } from '#test/support/manual-clock';

const noBug = (error: unknown): void => assert.unreachable(String(error));

/** A bus on which processes answer roll calls. */
function newScene() {
  const clock = new ManualClock();
  const bus = inProcessBus({ clock, onBug: noBug });
  const place = { bus, clock, prefix: 'test' };
  const said: string[] = [];
  bus.subscribe(presentSubject('test'), (message) => void said.push(String(message.length)));
  const answer = (role: CalledRole, node: string, cluster = 'c') =>
    answerRollCalls({ ...place, cluster }, { role, node, release: '1.1.0', startedAtMs: 7 });
  const call = (cluster = 'c') => callRoll({ ...place, cluster });
  const say = (subject: string, message: unknown) => {
    bus.publish(subject, Buffer.from(JSON.stringify(message)));
    clock.advance(0);
  };
  return { clock, said, answer, call, say };
}

const roll = suite('the roll call');

roll('lists edges and consoles, in order', () => {
  const { clock, answer, call } = newScene();
  for (const node of ['e2', 'e1']) answer('edge', node);
  answer('console', 'c1');
  using asked = call();
  assert.equal(asked.present(), []);
  clock.advance(200);
  assert.equal(
    asked.present().map(({ role, node }) => [role, node]),
    [
      ['edge', 'e1'],
      ['edge', 'e2'],
      ['console', 'c1'],
    ],
  );
  const [{ release, startedAtMs } = {}] = asked.present();
  assert.equal([release, startedAtMs], ['1.1.0', 7]);
});

roll('lists no process that ended before its answer', () => {
  const { clock, answer, call } = newScene();
  const ended = answer('edge', 'e1');
  using asked = call();
  clock.advance(100);
  ended[Symbol.dispose]();
  clock.advance(1_000);
  assert.equal(asked.present(), []);
});

roll('makes a process answer at most five times a second, even to a thousand calls', () => {
  const { clock, said, answer, call } = newScene();
  answer('edge', 'e1');
  for (let step = 0; step < 1_000; step += 1) {
    call();
    clock.advance(1);
  }
  clock.advance(1_000);
  assert.is(said.length, 5);
});

roll('neither answers nor lists another cluster under the same subjects', () => {
  const { clock, said, answer, call } = newScene();
  answer('edge', 'e1');
  using asked = call('other');
  clock.advance(1_000);
  assert.equal([said.length, asked.present()], [0, []]);
  answer('edge', 'e2', 'other');
  using again = call('other');
  clock.advance(1_000);
  assert.equal(
    again.present().map(({ node }) => node),
    ['e2'],
  );
});

roll('ignores malformed answers and malformed calls', () => {
  const { clock, said, answer, call, say } = newScene();
  const good = { cluster: 'c', role: 'edge', node: 'e1', release: '1.1.0', startedAtMs: 7 };
  using asked = call();
  const bad = [
    ...[null, [], 'edge', { ...good, role: 'engine' }, { ...good, node: '' }],
    ...[
      { ...good, node: 'e'.repeat(301) },
      { ...good, startedAtMs: 1e17 },
    ],
    { ...good, more: 'x'.repeat(5_000) },
  ];
  for (const answered of bad) say(presentSubject('test'), answered);
  assert.equal(asked.present(), []);
  say(presentSubject('test'), { ...good, more: 'of a later release' });
  assert.is(asked.present().length, 1);
  answer('edge', 'e2');
  const before = said.length;
  for (const called of [null, {}, { cluster: 7 }]) say(rollCallSubject('test'), called);
  clock.advance(1_000);
  assert.is(said.length, before);
});

roll.run();
