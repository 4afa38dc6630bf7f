import { DatabaseSync } from 'node:sqlite';
import { Chance } from '#test/chaos/faults/chance';

/** Number of keys, few enough that several transactions change each key. */
const KEYS = 120;
const CHANGES_MAX = 6;
const VALUE_MAX = 3_000;

/** Changes of a transaction, determined by its number. */
export function changesOf(number: number): { readonly key: number; readonly isKept: boolean }[] {
  const chance = new Chance(number);
  return Array.from({ length: 1 + chance.below(CHANGES_MAX) }, () => ({
    key: chance.below(KEYS),
    isKept: chance.happens(0.85),
  }));
}

/** Value that a transaction writes for a key. */
export function keptValue(key: number, number: number): string {
  const chance = new Chance(key * 1_000_003 + number);
  return `${number}.${key}.`.repeat(1 + chance.below(VALUE_MAX / 8));
}

/**
 * Number of the last transaction; 0 for an empty database. Throws unless the database holds exactly
 * the effects of all transactions up to the last.
 */
export function lastTransactionOf(file: string): number {
  using database = new DatabaseSync(file);
  const [check] = database.prepare('PRAGMA integrity_check').all();
  if (check?.['integrity_check'] !== 'ok') throw new Error(`damaged: ${JSON.stringify(check)}`);
  const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get();
  if (tables?.['tables'] !== 2) return 0;
  const { last, count } = database
    .prepare('SELECT coalesce(max(number), 0) AS last, count(*) AS count FROM done')
    .get() as { last: number; count: number };
  if (last !== count) throw new Error(`${count} transactions are stored, but the last is ${last}`);
  const expected = new Map<number, string>();
  for (let number = 1; number <= last; number += 1) {
    for (const { key, isKept } of changesOf(number)) {
      if (isKept) expected.set(key, keptValue(key, number));
      else expected.delete(key);
    }
  }
  const rows = database.prepare('SELECT key, value FROM kept').all();
  const wrong = rows.find(({ key, value }) => expected.get(Number(key)) !== value);
  if (wrong !== undefined || rows.length !== expected.size) {
    throw new Error(`the rows differ from the effects of ${last} transactions`);
  }
  return last;
}
