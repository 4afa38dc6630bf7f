import type { types } from 'cassandra-driver';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { type RowWrite, writeRows } from '#storage/cassandra/statements';
import type { HeldHead } from '#storage/ports/instances';
import { decodeState, encodeState, type StateRange, type StateRow } from '#storage/ports/states';

/* Separate from `instances.ts`, because past states have a table of their own. */

const COLUMNS = 'SELECT generation, cycle, state FROM states WHERE instance_id = ?';
const READ = `${COLUMNS} AND (generation, cycle) >= (?, ?) AND (generation, cycle) <= (?, ?)`;
const READ_UP = `${READ} LIMIT ?`;
const READ_DOWN = `${READ} ORDER BY generation DESC, cycle DESC LIMIT ?`;
const FIND = `${COLUMNS} AND generation = ? AND cycle IN ?`;
const WRITE = `INSERT INTO states (instance_id, generation, cycle, state) VALUES (?, ?, ?, ?)
  USING TIMESTAMP ?`;
const TRIM = `DELETE FROM states USING TIMESTAMP ?
  WHERE instance_id = ? AND (generation, cycle) < (?, ?)`;
const DELETE = 'DELETE FROM states USING TIMESTAMP ? WHERE instance_id = ?';

/** Stored states within a range of positions. */
export async function readStates(
  session: CassandraSession,
  instanceId: string,
  { from, to, limit, isNewestFirst }: StateRange,
): Promise<StateRow[]> {
  const ends = [from.generation, from.cycle, to.generation, to.cycle].map(BigInt);
  const options: StatementOptions = { kind: 'read', operation: 'states_read' };
  const query = isNewestFirst ? READ_DOWN : READ_UP;
  const { rows } = await session.execute(query, [instanceId, ...ends, limit], options);
  return rows.map((row) => decoded(instanceId, row));
}

/** Stored states at these cycles of a generation. */
export async function findStates(
  session: CassandraSession,
  instanceId: string,
  generation: number,
  cycles: readonly number[],
): Promise<StateRow[]> {
  if (cycles.length === 0) return [];
  const options: StatementOptions = { kind: 'read', operation: 'states_find' };
  const params = [instanceId, BigInt(generation), cycles.map(BigInt)];
  const { rows } = await session.execute(FIND, params, options);
  return rows.map((row) => decoded(instanceId, row));
}

function decoded(instanceId: string, row: types.Row): StateRow {
  const at = { generation: Number(row['generation']), cycle: Number(row['cycle']) };
  return decodeState(instanceId, at, row['state']);
}

/** Writes states with the version of their checkpoint as timestamp. */
export async function writeStates(
  session: CassandraSession,
  instanceId: string,
  version: number,
  states: readonly StateRow[],
): Promise<void> {
  const writes = states.values().map((row): RowWrite => {
    const value = encodeState(row);
    const { generation, cycle } = row;
    const params = [instanceId, BigInt(generation), BigInt(cycle), value, BigInt(version)];
    return { partition: 0, statement: { query: WRITE, params }, valueBytes: value.length };
  });
  await writeRows(session, writes, { kind: 'write', operation: 'states_write' });
}

/** Deletes the states before the floor of a head, with the head's version as timestamp. */
export async function trimStates(
  session: CassandraSession,
  instanceId: string,
  { version, floor }: HeldHead,
): Promise<void> {
  if (floor === undefined) return;
  const params = [BigInt(version), instanceId, BigInt(floor.generation), BigInt(floor.cycle)];
  await session.execute(TRIM, params, { kind: 'write', operation: 'states_delete' });
}

/** Deletes all states of a deleted instance, with the version of the deletion as timestamp. */
export async function deleteStates(
  session: CassandraSession,
  instanceId: string,
  version: number,
): Promise<void> {
  const params = [BigInt(version), instanceId];
  await session.execute(DELETE, params, { kind: 'write', operation: 'states_delete' });
}
