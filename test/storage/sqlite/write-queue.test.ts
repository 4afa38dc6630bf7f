import { DatabaseSync } from 'node:sqlite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Transaction } from '#storage/sqlite/database';
import { WriteQueue } from '#storage/sqlite/thread';

/** SQLite's result code for a full disk. */
const FULL = 13;
/** SQLite's result code for a violated constraint. */
const CONSTRAINT = 19;

type Outcome = { readonly isKept: boolean } | { readonly code: number };

/** A queue on an empty table in memory. `outcomes` records the outcome of each transaction. */
function scene() {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB)');
  const queue = new WriteQueue(database);
  const outcomes = new Map<string, Outcome>();
  const push = (name: string, transaction: Omit<Transaction, 'operation'>) =>
    queue.push({
      transaction: { operation: name, ...transaction },
      written: (isKept) => outcomes.set(name, { isKept }),
      failed: (error) => outcomes.set(name, { code: codeOf(error) }),
    });
  const ids = () =>
    database
      .prepare('SELECT id FROM rows ORDER BY id')
      .all()
      .map(({ id }) => id);
  return { database, queue, outcomes, push, ids };
}

function codeOf(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : -1;
}

function insert(id: number, bytes = 1, changes?: number): Transaction['statements'][number] {
  const sql = 'INSERT INTO rows VALUES (?, ?) ON CONFLICT DO NOTHING';
  const values = [id, new Uint8Array(bytes)];
  return changes === undefined ? { sql, values } : { sql, values, changes };
}

const together = suite('waiting transactions of a file');

together('are written as one group: journal transactions first, each kind in order', () => {
  const { database, queue, outcomes, push } = scene();
  const seen: number[] = [];
  database.function('seen', (id) => seen.push(Number(id)));
  const look = (id: number) => ({ sql: 'SELECT seen(?)', values: [id] });
  push('b', { statements: [look(3)] });
  push('a', { statements: [look(1), look(2)], lane: 'journal' });
  push('c', { statements: [look(4)] });
  assert.not(queue.isEmpty);
  queue.writeNext();
  assert.equal(seen, [1, 2, 3, 4]);
  assert.equal(
    [...outcomes],
    [
      ['a', { isKept: true }],
      ['b', { isKept: true }],
      ['c', { isKept: true }],
    ],
  );
  assert.ok(queue.isEmpty);
});

together('succeed or fail individually, each atomically', () => {
  const { queue, outcomes, push, ids } = scene();
  push('first', { statements: [insert(1)] });
  push('taken', { statements: [insert(2), insert(1, 1, 1)] });
  push('broken', {
    statements: [insert(3), { sql: 'INSERT INTO rows VALUES (1, NULL)', values: [] }],
  });
  push('last', { statements: [insert(4)] });
  queue.writeNext();
  assert.equal(ids(), [1, 4]);
  assert.equal(outcomes.get('taken'), { isKept: false });
  assert.equal(outcomes.get('broken'), { code: CONSTRAINT });
  assert.equal(outcomes.get('last'), { isKept: true });
});

together('beyond a few hundred KiB are written later, so that journals do not wait', () => {
  const { queue, outcomes, push } = scene();
  push('large', { statements: [insert(1, 300_000)] });
  push('next', { statements: [insert(2)] });
  queue.writeNext();
  assert.equal([...outcomes.keys()], ['large']);
  push('journal', { statements: [insert(3)], lane: 'journal' });
  queue.writeNext();
  assert.equal([...outcomes.keys()], ['large', 'journal', 'next']);
});

together('all fail if the file cannot grow, and nothing is kept', () => {
  const { database, queue, outcomes, push, ids } = scene();
  database.exec('PRAGMA max_page_count = 3');
  push('small', { statements: [insert(1)], lane: 'journal' });
  push('large', { statements: [insert(2, 100_000)], lane: 'journal' });
  queue.writeNext();
  assert.equal(ids(), []);
  assert.equal(outcomes.get('small'), { code: FULL });
  assert.equal(outcomes.get('large'), { code: FULL });
  database.exec('PRAGMA max_page_count = 1000');
  push('again', { statements: [insert(1)], lane: 'journal' });
  queue.writeNext();
  assert.equal(ids(), [1]);
});

together.run();
