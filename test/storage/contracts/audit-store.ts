import { suite as plainSuite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { chained, chainStart, headBehind } from '#audit/chain';
import {
  AUDIT_LINES_MAX,
  AUDIT_PART_LINES,
  type AuditHead,
  type AuditStore,
  linesToBorder,
} from '#storage/ports/audit';

type Open = () => Promise<{ readonly store: AuditStore; readonly account: string }>;

const MONTH = '2026-11';

/**
 * Contract tests of the AuditStore port for every adapter. `open` returns a store and an account
 * without lines.
 */
export function auditStoreContract(name: string, open: Open, suite = plainSuite): Test {
  const lines = suite(`audit trails in ${name}`);
  comingBack(lines, open);
  standingApart(lines, open);
  return lines;
}

function comingBack(lines: Test, open: Open): void {
  lines('of an account without lines have no months and no head', async () => {
    const { store, account } = await open();
    assert.equal(await store.months(account), []);
    assert.is(await store.head(account, MONTH), undefined);
    assert.equal(await store.read(account, MONTH, 10, 10), []);
  });

  lines('are read as appended, newest first', async () => {
    const { store, account } = await open();
    const first = await appended(store, account, chainStart(account, MONTH), 3);
    const head = await appended(store, account, first, 2);
    assert.equal(await store.head(account, MONTH), head);
    assert.is(head.lines, 5);
    const expected = chained(chainStart(account, MONTH), textsOf(0, 3));
    const all = [...expected, ...chained(first, textsOf(3, 2))].reverse();
    assert.equal(await store.read(account, MONTH, 5, 10), all);
    assert.equal(await store.read(account, MONTH, 4, 2), all.slice(1, 3));
    assert.equal(await store.read(account, MONTH, 35_000_000_000_000, 2), all.slice(0, 2));
  });

  lines('are appended only to the current head', async () => {
    const { store, account } = await open();
    const start = chainStart(account, MONTH);
    const head = await appended(store, account, start, 1);
    assert.is(await store.append(account, start, chained(start, ['late'])), false);
    const forged: AuditHead = { ...head, hash: start.hash };
    assert.is(await store.append(account, forged, chained(forged, ['forged'])), false);
    assert.equal(await store.head(account, MONTH), head);
    assert.is((await store.read(account, MONTH, 10, 10)).length, 1);
  });

  lines('are appended by only one of several concurrent writers', async () => {
    const { store, account } = await open();
    const start = chainStart(account, MONTH);
    const attempts = ['a', 'b', 'c', 'd'].map((text) =>
      store.append(account, start, chained(start, [text])),
    );
    const taken = await Promise.all(attempts);
    assert.is(taken.filter((isTaken) => isTaken).length, 1);
    assert.is((await store.head(account, MONTH))?.lines, 1);
  });
}

function standingApart(lines: Test, open: Open): void {
  lines('are separate per month and account', async () => {
    const { store, account } = await open();
    for (const month of ['2026-12', '2026-10', MONTH]) {
      await appended(store, account, chainStart(account, month), 1);
    }
    await appended(store, `${account}x`, chainStart(`${account}x`, '2026-09'), 1);
    assert.equal(await store.months(account), ['2026-10', MONTH, '2026-12']);
    await store.erase(account, '2026-10');
    await store.erase(account, '2026-10');
    assert.equal(await store.months(account), [MONTH, '2026-12']);
    assert.is(await store.head(account, '2026-10'), undefined);
    assert.equal(await store.read(account, '2026-10', 9, 9), []);
    assert.equal(await store.months(`${account}x`), ['2026-09']);
  });

  lines('continue across the border between parts', async () => {
    const { store, account } = await open();
    let head = chainStart(account, MONTH);
    while (head.lines < AUDIT_PART_LINES) {
      const count = Math.min(AUDIT_LINES_MAX, linesToBorder(head.lines));
      head = await appended(store, account, head, count);
    }
    head = await appended(store, account, head, 2);
    assert.is(head.lines, AUDIT_PART_LINES + 2);
    assert.equal(await store.head(account, MONTH), head);
    const read = await store.read(account, MONTH, head.lines, 4);
    const numbers = [2, 1, 0, -1].map((more) => AUDIT_PART_LINES + more);
    assert.equal(
      read.map(({ seq }) => seq),
      numbers,
    );
    await store.erase(account, MONTH);
    assert.equal(await store.read(account, MONTH, head.lines, 4), []);
  });
}

function textsOf(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `{"line":${from + index}}`);
}

/** Appends `count` lines and returns the new head. */
async function appended(
  store: AuditStore,
  account: string,
  head: AuditHead,
  count: number,
): Promise<AuditHead> {
  const lines = chained(head, textsOf(head.lines, count));
  assert.is(await store.append(account, head, lines), true);
  return headBehind(head, lines);
}
