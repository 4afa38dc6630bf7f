import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACTION_CURSOR, type AuditedAction, actionPage } from '#audit/actions';
import type { AuditEntry } from '#audit/entry';
import { ACCOUNT, entryOf, openTrail } from '#test/audit/entries';

const DAY_MS = 24 * 60 * 60_000;

type Wanted = Partial<{ limit: number; fromMs: number; untilMs: number }>;

/** A trail, and a function that reads all its pages of actions. */
function openActions() {
  const { trail, clock } = openTrail();
  const append = (target: string, more: Partial<AuditEntry> = {}) =>
    trail.append(ACCOUNT, entryOf({ target, ...more }));
  const pagesOf = async (
    { limit = 100, fromMs, untilMs }: Wanted = {},
    isWanted: (action: AuditedAction) => boolean = () => true,
  ) => {
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      if (cursor !== undefined) assert.match(cursor, ACTION_CURSOR);
      const asked = { cursor, limit, fromMs, untilMs };
      const read = (question: Parameters<typeof trail.page>[1]) => trail.page(ACCOUNT, question);
      const { actions, next } = await actionPage(read, isWanted, asked);
      pages.push(actions.map(({ begun, ended }) => `${begun.target} ${ended?.outcome ?? '-'}`));
      cursor = next;
    } while (cursor !== undefined && pages.length < 50);
    return pages;
  };
  return { trail, clock, append, pagesOf };
}

const actions = suite('a page of audited actions');

actions('joins the two lines of an action, also if other lines are between them', async () => {
  const { append, pagesOf } = openActions();
  const a = await append('a');
  const b = await append('b');
  await append('single', { outcome: 'unauthorized' });
  await append('a', { of: a, outcome: 'done' });
  await append('b', { of: b, outcome: 'conflict' });
  await append('write');
  assert.equal(await pagesOf(), [['write -', 'single -', 'b conflict', 'a done']]);
});

actions('keeps each action whole and in order at every size of a page', async () => {
  const { append, pagesOf } = openActions();
  const begun: [string, string][] = [];
  // Six actions at a time overlap, and every third action has only one line.
  for (let n = 0; n < 40; n += 1) {
    begun.push([`t${n}`, await append(`t${n}`)]);
    const [target, of] = begun[n - 5] ?? [];
    if (target !== undefined && of !== undefined && (n - 5) % 3 > 0) {
      await append(target, { of, outcome: 'done' });
    }
  }
  const [all = []] = await pagesOf();
  assert.is(all.length, 40);
  assert.equal(all.slice(-3), ['t2 done', 't1 done', 't0 -']);
  for (const limit of [1, 2, 3, 7, 16]) {
    assert.equal((await pagesOf({ limit })).flat(), all, `limit ${limit}`);
  }
});

actions('completes an action whose two lines are far apart, on any page', async () => {
  const { append, pagesOf } = openActions();
  const slow = await append('slow');
  for (let n = 0; n < 700; n += 1) await append(`t${n}`);
  await append('slow', { of: slow, outcome: 'done' });
  const pages = await pagesOf({ limit: 50 });
  assert.ok(Math.max(...pages.map(({ length }) => length)) <= 82, 'a page reads little further');
  assert.is(pages.flat().at(-1), 'slow done');
  assert.is(pages.flat().length, 701);
});

// A cursor for fewer lines showed refused writes as done.
actions('is whole if sixty actions are in progress at once', async () => {
  const { append, pagesOf } = openActions();
  const begun: string[] = [];
  for (let n = 0; n < 60; n += 1) begun.push(await append(`t${n}`));
  for (const [n, of] of begun.entries()) await append(`t${n}`, { of, outcome: 'conflict' });
  const shown = (await pagesOf({ limit: 2 })).flat();
  assert.equal(
    shown,
    Array.from({ length: 60 }, (_, n) => `t${59 - n} conflict`),
  );
});

actions('belongs to the period of its first line', async () => {
  const { append, clock, pagesOf } = openActions();
  await append('old');
  clock.advance(40 * DAY_MS);
  const late = await append('late');
  clock.advance(60_000);
  const betweenMs = clock.wallMs();
  await append('late', { of: late, outcome: 'done' });
  await append('new');
  assert.equal(await pagesOf({ untilMs: betweenMs }), [['late done', 'old -']]);
  assert.equal(await pagesOf({ fromMs: betweenMs }), [['new -']]);
});

actions('is found among thousands of lines by few requests', async () => {
  const { append, pagesOf } = openActions();
  const wanted = await append('wanted');
  await append('wanted', { of: wanted, outcome: 'done' });
  for (let n = 0; n < 12_000; n += 1) await append(`t${n}`);
  const found = await pagesOf({}, ({ begun }) => begun.target === 'wanted');
  assert.equal(found, [[], ['wanted done']]);
});

actions('has the outcome of an action whose first line was erased', async () => {
  const { append, pagesOf } = openActions();
  await append('cut', { of: '2025-12.7', outcome: 'done' });
  assert.equal(await pagesOf(), [['cut -']]);
});

actions('accepts an invented cursor', async () => {
  const { append, trail } = openActions();
  await append('a');
  const read = (question: Parameters<typeof trail.page>[1]) => trail.page(ACCOUNT, question);
  const asked = { limit: 10, fromMs: undefined, untilMs: undefined };
  const cursor = '2026-01.999999999999999~2026-01.1~2031-07.4';
  const { actions: found } = await actionPage(read, () => true, { ...asked, cursor });
  assert.equal(
    found.map(({ ended }) => ended),
    [undefined],
  );
});

actions.run();
