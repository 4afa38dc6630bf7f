import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AuditFilter, auditPage } from '#audit/page';
import { PAGE_LINES_MAX } from '#audit/trail-bounds';
import { ACCOUNT, entryOf, openTrail } from '#test/audit/entries';

const DAY_MS = 24 * 60 * 60 * 1_000;

const pages = suite('a page of an audit trail');

async function openLines() {
  const opened = openTrail();
  const { trail, clock } = opened;
  await trail.append(ACCOUNT, entryOf({ target: 'a', action: 'key.create' }));
  await trail.append(ACCOUNT, entryOf({ target: 'b', action: 'keyring.make' }));
  clock.advance(20 * DAY_MS);
  await trail.append(ACCOUNT, entryOf({ target: 'c', outcome: 'done' }));
  await trail.append(ACCOUNT, entryOf({ target: 'd', actor: { kind: 'key', id: 'key_1' } }));
  return opened;
}

pages('lists the newest line first, across months, and continues at its cursor', async () => {
  const { store } = await openLines();
  const targets: (string | undefined)[] = [];
  let before: string | undefined;
  for (let reads = 0; reads < 10; reads += 1) {
    const page = await auditPage(store, ACCOUNT, {}, { before, limit: 1 });
    targets.push(...page.lines.map(({ target }) => target));
    before = page.next;
    if (before === undefined) break;
  }
  assert.equal(targets, ['d', 'c', 'b', 'a']);
});

pages('has only lines that match its filter', async () => {
  const { store, clock } = await openLines();
  const found = async (filter: AuditFilter) =>
    (await auditPage(store, ACCOUNT, filter, { before: undefined, limit: 10 })).lines.map(
      ({ target }) => target,
    );
  assert.equal(await found({}), ['d', 'c', 'b', 'a']);
  assert.equal(await found({ action: 'key' }), ['d', 'c', 'a']);
  assert.equal(await found({ action: 'key.create' }), ['a']);
  assert.equal(await found({ actor: 'key_1' }), ['d']);
  assert.equal(await found({ target: 'b' }), ['b']);
  assert.equal(await found({ outcome: 'done' }), ['c']);
  assert.equal(await found({ fromMs: clock.wallMs() }), ['d', 'c']);
  assert.equal(await found({ untilMs: clock.wallMs() }), ['b', 'a']);
  assert.equal(await found({ fromMs: clock.wallMs() + 1 }), []);
});

pages('skips lines that are not JSON, and keeps fields of a later release', async () => {
  const { store } = await openLines();
  const read: typeof store.read = async (...args) =>
    (await store.read(...args)).map((line) =>
      line.text.includes('"c"')
        ? { ...line, text: '{broken' }
        : { ...line, text: line.text.replace('{', '{"later":1,') },
    );
  const page = await auditPage({ ...store, read }, ACCOUNT, {}, { before: undefined, limit: 10 });
  assert.equal(
    page.lines.map(({ target }) => target),
    ['d', 'b', 'a'],
  );
});

pages('starts at the last line of a month if the cursor is beyond this line', async () => {
  const { store } = await openLines();
  let reads = 0;
  const read: typeof store.read = async (account, month, newest, count) => {
    reads += 1;
    assert.ok(newest <= 2, String(newest));
    return await store.read(account, month, newest, count);
  };
  const at = { before: '2026-02.999999999999999', limit: 10 };
  assert.is((await auditPage({ ...store, read }, ACCOUNT, {}, at)).lines.length, 4);
  assert.is(reads, 2);
});

pages('reads a bounded number of lines, and returns a cursor to continue', async () => {
  const { store, trail } = openTrail();
  const count = PAGE_LINES_MAX + 10;
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      trail.append(ACCOUNT, entryOf({ target: index === 0 ? 'oldest' : 'other' })),
    ),
  );
  const filter = { target: 'oldest' };
  const first = await auditPage(store, ACCOUNT, filter, { before: undefined, limit: 5 });
  assert.equal(first.lines, []);
  assert.ok(first.next !== undefined);
  const second = await auditPage(store, ACCOUNT, filter, { before: first.next, limit: 5 });
  assert.is(second.lines.length, 1);
  assert.is(second.next, undefined);
});

pages.run();
