import { type Account, type ApiKeyRecord, creatorText } from '#accounts/account';
import type { Limits, PlanChange } from '#accounts/plan';
import { MODE_KEYS } from '#identity/modes';
import type { DriftRow, Floor, HistoryRow, InstanceHead } from '#storage/ports/instances';
import type { StateRow } from '#storage/ports/states';

/** Format name in the first line of an export. */
export const EXPORT_FORMAT = 'identity-engine-account';

/** Format version that this program writes. Other versions are refused. */
export const EXPORT_VERSION = 1;

/** Counts in the last line of an export. */
export type ExportCounts = {
  readonly keys: number;
  readonly instances: number;
  readonly observations: number;
  readonly drift_events: number;
};

type Field =
  | string
  | number
  | boolean
  | undefined
  | readonly string[]
  | Readonly<Record<string, string | number>>;

/** First line: format, account, release and time of the export. */
export function headerLine(account: string, serviceVersion: string, exportedAt: string): string {
  const format = { format: EXPORT_FORMAT, version: EXPORT_VERSION };
  return line('export', {
    ...format,
    account,
    service_version: serviceVersion,
    exported_at: exportedAt,
  });
}

/** Account line, without keys and usage. */
export function accountLine(account: Account): string {
  const { id, name, plan, status, planChange, modelVersion, retention, createdAtMs } = account;
  return line('account', {
    id,
    name,
    plan,
    status,
    ...limitsLine(account.limits),
    plan_change: planChange && planChangeLine(planChange),
    model_version: modelVersion,
    retention_days: retention,
    created_at_ms: createdAtMs,
  });
}

function planChangeLine({ plan, limits, atMs, from }: PlanChange) {
  return { plan, ...limitsLine(limits), at_ms: atMs, from };
}

function limitsLine({ requestsPerMinute, cyclesPerMonth, instances }: Limits) {
  return {
    requests_per_minute: requestsPerMinute,
    cycles_per_month: cyclesPerMonth,
    instances,
  };
}

/**
 * Key line. The line has only the digest of the key, so a reader of the file cannot use the key.
 */
export function keyLine(key: ApiKeyRecord): string {
  return line('key', {
    id: key.id,
    digest: key.digest,
    scope: key.scope,
    created_at_ms: key.createdAtMs,
    revoked_at_ms: key.revokedAtMs,
    expires_at_ms: key.expiresAtMs,
    name: key.name,
    hint: key.hint,
    networks: key.networks,
    disabled_at_ms: key.disabledAtMs,
    replaced_by: key.replacedBy,
    created_by: key.createdBy && creatorText(key.createdBy),
  });
}

/** Instance line, without rows. */
export function instanceLine(id: string, head: InstanceHead): string {
  const { model, floor, tagsJson } = head;
  return line('instance', {
    id,
    version: head.version,
    name: head.name,
    description: head.description,
    tags: tagsJson === undefined ? undefined : JSON.parse(tagsJson),
    created_at_ms: head.createdAtMs,
    updated_at_ms: head.updatedAtMs,
    changed_at_ms: head.changedAtMs,
    origin_ms: head.originMs,
    observed_at_ms: head.observedAtMs,
    generation: head.generation,
    history_count: head.historyCount,
    history_start: head.historyStart,
    drift_count: head.driftCount,
    drift_start: head.driftStart,
    model_version: head.modelVersion,
    model: Buffer.from(model.buffer, model.byteOffset, model.byteLength).toString('base64'),
    ...(floor === undefined ? {} : floorFields(floor)),
  });
}

/** Fields of the floor: counts, position and state at the last trimmed row. */
function floorFields(floor: Floor): Readonly<Record<string, Field>> {
  const { state } = floor;
  return {
    trimmed_history: floor.history,
    trimmed_drift: floor.drift,
    trimmed_generation: floor.generation,
    trimmed_cycle: floor.cycle,
    trimmed_timestamp_ms: floor.timestampMs,
    trimmed_model:
      state === undefined ? undefined : Buffer.from(state, 'latin1').toString('base64'),
  };
}

/** Line of a past state. */
export function stateLine(row: StateRow): string {
  return line('state', {
    generation: row.generation,
    cycle: row.cycle,
    ordinal: row.ordinal,
    cause: row.cause,
    origin_ms: row.originMs,
    observed_at_ms: row.observedAtMs,
    model_version: row.modelVersion,
    model: Buffer.from(row.state, 'latin1').toString('base64'),
  });
}

/** Observation line. */
export function observationLine(row: HistoryRow): string {
  return line('observation', {
    ordinal: row.ordinal,
    generation: row.generation,
    cycle: row.cycle,
    mode: MODE_KEYS[row.mode],
    signal: row.signal,
    confidence: row.confidence,
    context: row.contextJson,
    timestamp_ms: row.timestampMs,
  });
}

/** Drift event line. */
export function driftLine(row: DriftRow): string {
  return line('drift', {
    ordinal: row.ordinal,
    generation: row.generation,
    cycle: row.cycle,
    level: row.level,
    deviation: row.deviationJson,
    affected_modes: row.affectedModesJson,
    rolled_back: row.isRolledBack,
    timestamp_ms: row.timestampMs,
  });
}

/** Last line: counts, and the SHA-256 of all bytes before this line. */
export function endLine(counts: ExportCounts, sha256: string): string {
  return line('end', { ...counts, sha256 });
}

function line(kind: string, fields: Readonly<Record<string, Field>>): string {
  let text = `{"kind":"${kind}"`;
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) text += `,"${name}":${jsonOf(value)}`;
  }
  return `${text}}\n`;
}

/** Like `JSON.stringify`, but keeps -0. The model distinguishes -0 from 0. */
function jsonOf(value: NonNullable<Field>): string {
  return Object.is(value, -0) ? '-0' : JSON.stringify(value);
}
