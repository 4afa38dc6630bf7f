import {
  decodeState,
  encodeState,
  type StatePosition,
  type StateRange,
  type StateRow,
} from '#storage/ports/states';
import type { Row, SqliteDatabase, Statement } from '#storage/sqlite/database';
import { bytesIn, CheckedTable, type Condition, wholeIn } from '#storage/sqlite/tables';

/* Separate from `instances.ts`, because past states have a table of their own. */

const STATES = new CheckedTable({
  name: 'states',
  keys: ['instance_id', 'generation', 'cycle'],
  others: ['state'],
});

const RANGE = `WHERE instance_id = ?
  AND (generation, cycle) >= (?, ?) AND (generation, cycle) <= (?, ?)`;
const READ_UP = STATES.select(`${RANGE} ORDER BY generation, cycle LIMIT ?`);
const READ_DOWN = STATES.select(`${RANGE} ORDER BY generation DESC, cycle DESC LIMIT ?`);

/** Stored states within a range of positions. */
export async function readStates(
  database: SqliteDatabase,
  instanceId: string,
  { from, to, limit, isNewestFirst }: StateRange,
): Promise<StateRow[]> {
  const ends = [from.generation, from.cycle, to.generation, to.cycle];
  const sql = isNewestFirst ? READ_DOWN : READ_UP;
  const values = [instanceId, ...ends, limit];
  const rows = await STATES.read(database, { operation: 'states_read', sql, values });
  return rows.map((row) => decoded(instanceId, row));
}

/** Stored states at these cycles of a generation. */
export async function findStates(
  database: SqliteDatabase,
  instanceId: string,
  generation: number,
  cycles: readonly number[],
): Promise<StateRow[]> {
  if (cycles.length === 0) return [];
  const places = cycles.map(() => '?').join(', ');
  const sql = STATES.select(`WHERE instance_id = ? AND generation = ? AND cycle IN (${places})`);
  const values = [instanceId, generation, ...cycles];
  const rows = await STATES.read(database, { operation: 'states_find', sql, values });
  return rows.map((row) => decoded(instanceId, row));
}

function decoded(instanceId: string, row: Row): StateRow {
  const at = { generation: wholeIn(row, 1), cycle: wholeIn(row, 2) };
  return decodeState(instanceId, at, bytesIn(row, 3));
}

/** Statements that write states. */
export function writesOfStates(
  instanceId: string,
  states: readonly StateRow[],
  where: Condition,
): Statement[] {
  return states.map((row) =>
    STATES.put([instanceId, row.generation, row.cycle, encodeState(row)], { where }),
  );
}

/** Statement that deletes the states before a position; undefined: all states. */
export function deletionOfStates(
  instanceId: string,
  before: StatePosition | undefined,
  where: Condition,
): Statement {
  const isBefore = before === undefined ? '' : 'AND (generation, cycle) < (?, ?)';
  const position = before === undefined ? [] : [before.generation, before.cycle];
  const values = [instanceId, ...position, ...where.values];
  return STATES.delete(`instance_id = ? ${isBefore} AND ${where.condition}`, values);
}
