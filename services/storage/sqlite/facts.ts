import assert from 'node:assert/strict';
import { CheckedTable, textIn } from '#storage/sqlite/checked-table';
import type { SqliteDatabase } from '#storage/sqlite/database';

const FACTS = new CheckedTable({
  name: 'cluster_facts',
  keys: ['fact'],
  others: ['value'],
  part: null,
});

/** The value of a fact; undefined: it has none yet. */
export async function factOf(database: SqliteDatabase, fact: string): Promise<string | undefined> {
  const row = await FACTS.find(database, 'cluster_fact_read', [fact]);
  return row && textIn(row, 1);
}

/** The value that a fact has for good: the one that stands, or `wanted`. */
export async function fixFact(
  database: SqliteDatabase,
  fact: string,
  wanted: string,
): Promise<string> {
  const stands = await factOf(database, fact);
  if (stands !== undefined) return stands;
  const statements = [FACTS.insert([fact, wanted])];
  if (await database.write({ operation: 'cluster_fact_fix', statements })) return wanted;
  const other = await factOf(database, fact);
  assert(other !== undefined, `${fact} is neither there nor not`);
  return other;
}

/** Gives a fact a value, whatever it had. */
export async function putFact(
  database: SqliteDatabase,
  fact: string,
  value: string,
): Promise<void> {
  await database.write({ operation: 'cluster_fact_put', statements: [FACTS.put([fact, value])] });
}
