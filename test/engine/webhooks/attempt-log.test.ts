import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Attempt,
  AttemptLog,
  attemptBodies,
  BodyMemory,
  REQUEST_SHOWN_MAX,
} from '#engine/webhooks/attempt-log';

const ANSWER = { contentType: 'text/plain', text: 'x'.repeat(1_000), isCut: false };

function attemptOf(n: number): Attempt {
  const bodies = attemptBodies(`request ${n}`, ANSWER);
  const times = { atMs: n, durationMs: 1 };
  return {
    messageId: `${n}`,
    ...times,
    events: 1,
    positions: [n],
    failure: undefined,
    status: 200,
    bodies,
  };
}

function logWith(memory: BodyMemory, count: number): AttemptLog {
  const log = new AttemptLog(memory);
  for (let n = 0; n < count; n += 1) log.add(attemptOf(n));
  return log;
}

const bodiesIn = (log: AttemptLog) =>
  log.newestFirst().filter(({ bodies }) => bodies !== undefined).length;

const logs = suite('the log of attempts of an endpoint');

logs('has the last 100 attempts, and the bodies of the newest 20', () => {
  const log = logWith(new BodyMemory(), 150);
  const newest = log.newestFirst();
  assert.equal([newest.length, newest[0]?.messageId, newest.at(-1)?.messageId], [100, '149', '50']);
  assert.equal(
    newest.slice(0, 21).map(({ bodies }) => bodies?.request.text),
    [...Array.from({ length: 20 }, (_, n) => `request ${149 - n}`), undefined],
  );
});

// An account with many busy endpoints must not fill the memory of an engine.
logs('loses its oldest bodies if all endpoints together need too much memory', () => {
  const memory = new BodyMemory(50_000);
  const first = logWith(memory, 10);
  const second = logWith(memory, 20);
  assert.ok(memory.bytes <= 50_000, `${memory.bytes} bytes`);
  assert.equal([bodiesIn(first), first.newestFirst().length], [1, 10]);
  assert.is(bodiesIn(second), 20);
});

logs('frees its memory when the endpoint ends', () => {
  const memory = new BodyMemory();
  const log = logWith(memory, 150);
  assert.ok(memory.bytes > 0);
  log[Symbol.dispose]();
  assert.is(memory.bytes, 0);
});

logs('cuts a long request, also within a character', () => {
  const { request } = attemptBodies(`${'x'.repeat(REQUEST_SHOWN_MAX - 1)}😀`, undefined);
  assert.is(request.isCut, true);
  assert.ok(request.text.length <= REQUEST_SHOWN_MAX);
  assert.ok(request.text.isWellFormed());
});

logs.run();
