import type { CassandraSession } from '#storage/cassandra/session';

/** Table row that contains one of the texts. */
export type Trace = { readonly table: string; readonly found: string; readonly row: string };

/** Searches every row of every table in the session's keyspace. */
export async function tracesOf(
  session: CassandraSession,
  keyspace: string,
  texts: readonly string[],
): Promise<Trace[]> {
  const traces: Trace[] = [];
  for await (const { table, bytes } of rowsOf(session, keyspace)) {
    for (const found of texts) {
      if (bytes.includes(found)) traces.push({ table, found, row: bytes.toString('latin1') });
    }
  }
  return traces;
}

/** All values of a keyspace by table, as bytes or text. */
export async function dumpOf(
  session: CassandraSession,
  keyspace: string,
): Promise<ReadonlyMap<string, Buffer>> {
  const dumped = new Map<string, Buffer[]>();
  for await (const { table, bytes } of rowsOf(session, keyspace)) {
    dumped.set(table, [...(dumped.get(table) ?? []), bytes, Buffer.from('\n')]);
  }
  return new Map([...dumped].map(([table, rows]) => [table, Buffer.concat(rows)]));
}

async function* rowsOf(session: CassandraSession, keyspace: string) {
  const options = { kind: 'read', operation: 'test_scan' } as const;
  const names = 'SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?';
  const { rows: tables } = await session.execute(names, [keyspace], options);
  for (const { table_name: table } of tables) {
    for await (const page of session.pages(`SELECT * FROM ${table}`, [], options)) {
      for (const row of page) {
        yield { table: table as string, bytes: Buffer.concat(Object.values(row).map(bytesOf)) };
      }
    }
  }
}

function bytesOf(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value;
  if (Array.isArray(value)) return Buffer.concat(value.map(bytesOf));
  if (value instanceof Map) return Buffer.concat([...value].flat().map(bytesOf));
  if (value instanceof Set) return Buffer.concat([...value].map(bytesOf));
  return Buffer.from(String(value));
}

/** Changes one byte of an instance's head, or of its newest history chunk. */
export async function damage(
  session: CassandraSession,
  table: 'heads' | 'history',
  id: string,
): Promise<void> {
  const select = `SELECT * FROM ${table} WHERE instance_id = ? ALLOW FILTERING`;
  const reading = { kind: 'read', operation: 'test_read' } as const;
  const [row] = (await session.execute(select, [id], reading)).rows;
  if (row === undefined) throw new Error(`nothing of ${id} is in ${table}`);
  const isHead = table === 'heads';
  const spoilt = Buffer.from(row[isHead ? 'state' : 'chunk']);
  spoilt.writeUInt8(spoilt.readUInt8(20) ^ 1, 20);
  const [column, keys] = isHead ? ['state', ''] : ['chunk', ' AND last_ordinal = ?'];
  const update = `UPDATE ${table} USING TIMESTAMP 1000 SET ${column} = ?
    WHERE instance_id = ? AND bucket = ?${keys}`;
  const params = [spoilt, id, row['bucket'], ...(isHead ? [] : [row['last_ordinal']])];
  await session.execute(update, params, { kind: 'write', operation: 'test_write' });
}
