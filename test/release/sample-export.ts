import type { Account, ApiKeyRecord } from '#accounts/account';
import * as lines from '#ctl/export/lines';
import { MODELS } from '#identity/model';
import { rowsOfChunks } from '#storage/ports/chunks';
import { type Chunk, unpackedHead } from '#storage/ports/instances';
import { DRIFT_EVENTS, OBSERVATIONS, type RowReading } from '#storage/ports/rows';
import { sampleInstances } from '#test/release/sample-instances';

/** Number of sample rows per table. The number is small because a drift row is long. */
const ROWS = 1;

const ACCOUNT: Account = {
  id: 'Acc0unt00001',
  name: 'Ada & Co',
  plan: 'enterprise',
  status: 'suspended',
  limits: { requestsPerMinute: 7, cyclesPerMonth: 8, instances: 9 },
  modelVersion: MODELS.newest.version,
  createdAtMs: 1,
};

const KEY: ApiKeyRecord = {
  id: 'key_0000000000000001',
  digest: 'd'.repeat(43),
  scope: 'read',
  createdAtMs: 5,
  revokedAtMs: 7,
  expiresAtMs: 9,
};

/** A key with all fields of 1.1.0. */
const FULL_KEY: ApiKeyRecord = {
  ...KEY,
  name: 'Zoë’s laptop',
  hint: 'ab12',
  networks: ['10.0.0.0/8', '2001:db8::/32'],
  disabledAtMs: 8,
  replacedBy: 'key_0000000000000002',
};

/** Export lines of every kind, with and without optional fields. */
export function sampleExportLines(): readonly string[] {
  const { revokedAtMs: _, expiresAtMs: __, ...endless } = KEY;
  const { modelVersion: ___, ...unchosen } = ACCOUNT;
  return [
    lines.headerLine(ACCOUNT.id, '1.2.3', '2026-01-15T12:00:00.000Z'),
    ...[ACCOUNT, unchosen].map(lines.accountLine),
    ...[KEY, endless, FULL_KEY].map(lines.keyLine),
    ...sampleInstances().flatMap(({ instanceId, checkpoint: { head, history, drift } }) => {
      if (head.deletedAtMs !== undefined) return [];
      return [
        lines.instanceLine(instanceId, unpackedHead(head)),
        ...rowsIn(OBSERVATIONS, instanceId, history, ROWS).map(lines.observationLine),
        ...rowsIn(DRIFT_EVENTS, instanceId, drift, ROWS).map(lines.driftLine),
      ];
    }),
    lines.endLine({ keys: 1, instances: 2, observations: 3, drift_events: 4 }, 'ab'.repeat(32)),
  ];
}

/** Newest rows of the last chunk. */
function rowsIn<Row extends { readonly ordinal: number }>(
  reading: RowReading<Row>,
  instanceId: string,
  chunks: readonly Chunk[],
  count: number,
): Row[] {
  const last = chunks.at(-1);
  return last === undefined ? [] : rowsOfChunks(reading, instanceId, [last], last.last, count);
}
