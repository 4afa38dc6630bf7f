import assert from 'node:assert/strict';
import type { CassandraSession, StatementOptions } from '#storage/cassandra/session';
import { conditionalAnswerOf } from '#storage/cassandra/statements';
import {
  AUDIT_LINES_MAX,
  AUDIT_PART_LINES,
  type AuditHead,
  type AuditStore,
  linesToBorder,
  type StoredAuditLine,
} from '#storage/ports/audit';

/**
 * Timeout of a conditional write, in milliseconds. A conditional write needs four round trips
 * between servers.
 */
const APPEND_MS_MAX = 5_000;

/** Timestamp later than any server's time, so that a late write cannot restore an erased month. */
const FOR_EVER = BigInt(Number.MAX_SAFE_INTEGER);

const MONTHS = 'SELECT month, parts FROM audit_months WHERE account_id = ?';
const MONTH = `${MONTHS} AND month = ?`;
const ADD_PART = `INSERT INTO audit_months (account_id, month, parts) VALUES (?, ?, ?)
  USING TIMESTAMP ?`;
const PART = 'account_id = ? AND month = ? AND part = ?';
const HEAD = `SELECT lines, hash FROM audit WHERE ${PART} LIMIT 1`;
const BEGIN = `UPDATE audit SET lines = ?, hash = ? WHERE ${PART} IF lines = null`;
const MOVE = `UPDATE audit SET lines = ?, hash = ? WHERE ${PART} IF lines = ? AND hash = ?`;
const ADD = `INSERT INTO audit (account_id, month, part, seq, line, line_hash)
  VALUES (?, ?, ?, ?, ?, ?)`;
const READ = `SELECT seq, line, line_hash FROM audit WHERE ${PART} AND seq <= ? LIMIT ?`;
const ERASE_PART = `DELETE FROM audit USING TIMESTAMP ? WHERE ${PART}`;
const ERASE_MONTH = `DELETE FROM audit_months USING TIMESTAMP ? WHERE account_id = ? AND month = ?`;

/**
 * Audit trails in Cassandra. Each part of an account's month is a partition, with the head of the
 * chain in static columns. An append is a single conditional batch: it moves the head by
 * compare-and-set and adds the lines.
 */
export function cassandraAuditStore(session: CassandraSession): AuditStore {
  return {
    async months(accountId) {
      const options: StatementOptions = { kind: 'read', operation: 'audit_months_read' };
      const { rows } = await session.execute(MONTHS, [accountId], options);
      return rows.map(({ month }) => month);
    },
    head: (accountId, month) => head(session, accountId, month),
    append: (accountId, after, lines) => append(session, accountId, after, lines),
    async read(accountId, month, newest, count) {
      const found: StoredAuditLine[] = [];
      const parts = await partsOf(session, accountId, month);
      for (
        let part = Math.min(partOf(newest), parts - 1);
        part >= 0 && found.length < count;
        part -= 1
      ) {
        const wanted = count - found.length;
        found.push(...(await readPart(session, [accountId, month, part], newest, wanted)));
      }
      return found;
    },
    async erase(accountId, month) {
      const parts = await partsOf(session, accountId, month);
      const options: StatementOptions = { kind: 'write', operation: 'audit_erase' };
      for (let part = 0; part < parts; part += 1) {
        await session.execute(ERASE_PART, [FOR_EVER, accountId, month, part], options);
      }
      await session.execute(ERASE_MONTH, [FOR_EVER, accountId, month], options);
    },
  };
}

/** Index of the part that contains a line. */
function partOf(seq: number): number {
  return Math.floor((seq - 1) / AUDIT_PART_LINES);
}

async function append(
  session: CassandraSession,
  accountId: string,
  { month, lines: count, hash }: AuditHead,
  lines: readonly StoredAuditLine[],
): Promise<boolean> {
  const last = lines.at(-1);
  assert(last !== undefined && lines.length <= AUDIT_LINES_MAX, 'a batch must contain lines');
  assert(lines.length <= linesToBorder(count), 'the lines of a batch must belong to one part');
  const part = partOf(last.seq);
  const key = [accountId, month, part];
  const isFirst = count === part * AUDIT_PART_LINES;
  if (isFirst) {
    // The part is registered first, so that every part is found. Readers skip a part without lines.
    const options: StatementOptions = { kind: 'write', operation: 'audit_months_write' };
    await session.execute(ADD_PART, [accountId, month, part + 1, BigInt(part + 1)], options);
  }
  const moved = [BigInt(last.seq), last.hash, ...key];
  const move = isFirst
    ? { query: BEGIN, params: moved }
    : { query: MOVE, params: [...moved, BigInt(count), hash] };
  const adds = lines.map(({ seq, text, hash: own }) => {
    return { query: ADD, params: [...key, BigInt(seq), text, own] };
  });
  const options: StatementOptions = {
    kind: 'conditional',
    operation: 'audit_append',
    timeoutMs: APPEND_MS_MAX,
  };
  return conditionalAnswerOf(await session.batch([move, ...adds], options)).isApplied;
}

async function partsOf(
  session: CassandraSession,
  accountId: string,
  month: string,
): Promise<number> {
  const options: StatementOptions = { kind: 'read', operation: 'audit_months_read' };
  const { rows } = await session.execute(MONTH, [accountId, month], options);
  return rows[0]?.['parts'] ?? 0;
}

/** Head of a month. Skips registered parts whose append never happened. */
async function head(
  session: CassandraSession,
  accountId: string,
  month: string,
): Promise<AuditHead | undefined> {
  const options: StatementOptions = { kind: 'serial_read', operation: 'audit_head_read' };
  for (let part = (await partsOf(session, accountId, month)) - 1; part >= 0; part -= 1) {
    const { rows } = await session.execute(HEAD, [accountId, month, part], options);
    const lines: bigint | null = rows[0]?.['lines'] ?? null;
    if (lines !== null) return { month, lines: Number(lines), hash: rows[0]?.['hash'] };
  }
  return undefined;
}

async function readPart(
  session: CassandraSession,
  key: readonly unknown[],
  newest: number,
  count: number,
): Promise<StoredAuditLine[]> {
  const options: StatementOptions = { kind: 'read', operation: 'audit_read' };
  const { rows } = await session.execute(READ, [...key, BigInt(newest), count], options);
  return rows.map((row) => {
    return { seq: Number(row['seq']), text: row['line'], hash: row['line_hash'] };
  });
}
