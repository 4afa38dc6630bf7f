import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeptResults } from '#console/usage/kept-results';
import { toFault } from '#errors/fault';
import { ManualClock } from '#test/support/manual-clock';

const KEPT_MS = 60_000;

/** A store of kept results. Its computations end when the test decides. */
function sharing(bounds = { atOnce: 2, waitingMax: 3, keptMax: 4 }) {
  const clock = new ManualClock();
  const results = new KeptResults<string>(clock, { ...bounds, keptMs: KEPT_MS });
  const made: { key: string; end: PromiseWithResolvers<string> }[] = [];
  const ask = (key: string) =>
    results.of(key, () => {
      const end = Promise.withResolvers<string>();
      made.push({ key, end });
      return end.promise;
    });
  const end = (value: string) => made.at(-1)?.end.resolve(value);
  const refused = (key: string) =>
    ask(key).then(
      () => undefined,
      (error: unknown) => toFault(error).reason,
    );
  return { clock, ask, made, end, refused };
}

const shared = suite('a result that is expensive to compute');

shared('is computed once for all callers within the next minute', async () => {
  const { clock, ask, made, end } = sharing();
  const asked = [ask('ada'), ask('ada'), ask('ada')];
  end('first');
  assert.equal(await Promise.all(asked), ['first', 'first', 'first']);
  clock.advance(KEPT_MS - 1);
  assert.is(await ask('ada'), 'first');
  assert.is(made.length, 1);
  clock.advance(1);
  const again = ask('ada');
  end('second');
  assert.is(await again, 'second');
  assert.is(made.length, 2);
});

shared('is shared only between callers with the same key', async () => {
  const { ask, made } = sharing();
  const asked = [ask('ada'), ask('bob')];
  for (const { key, end } of made) end.resolve(`of ${key}`);
  assert.equal(await Promise.all(asked), ['of ada', 'of bob']);
});

shared(
  'is refused as overloaded during too many computations, unless one of them computes it',
  async () => {
    const { ask, made, refused } = sharing();
    const asked = [ask('ada'), ask('bob')];
    assert.is(await refused('carol'), 'overloaded');
    asked.push(ask('bob'));
    for (const { end } of made) end.resolve('done');
    assert.equal(await Promise.all(asked), ['done', 'done', 'done']);
    const next = ask('carol');
    made.at(-1)?.end.resolve('done');
    assert.is(await next, 'done');
  },
);

shared(
  'is refused as overloaded while too many callers wait, but not after it is ready',
  async () => {
    const { ask, end, refused, made } = sharing();
    const asked = [ask('ada'), ask('ada'), ask('ada')];
    assert.is(await refused('ada'), 'overloaded');
    end('done');
    assert.equal(await Promise.all(asked), ['done', 'done', 'done']);
    for (let time = 0; time < 5; time += 1) assert.is(await ask('ada'), 'done');
    assert.is(made.length, 1);
  },
);

shared('is computed again after a failure', async () => {
  const { ask, made } = sharing();
  const first = Promise.allSettled([ask('ada'), ask('ada')]);
  made.at(-1)?.end.reject(new Error('no engine'));
  assert.equal(
    (await first).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  const second = ask('ada');
  made.at(-1)?.end.resolve('done');
  assert.is(await second, 'done');
  assert.is(made.length, 2);
});

shared('is cached for the newest keys only', async () => {
  const { ask, made, end } = sharing();
  for (const key of ['a', 'b', 'c', 'd', 'e']) {
    const asked = ask(key);
    end(key);
    await asked;
  }
  await Promise.all(['b', 'c', 'd', 'e'].map(ask));
  assert.is(made.length, 5, 'the newest four are cached');
  const oldest = ask('a');
  end('again');
  assert.is(await oldest, 'again');
});

shared.run();
