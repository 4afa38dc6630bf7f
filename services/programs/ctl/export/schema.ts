import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Account, type ApiKeyRecord, creatorFrom } from '#accounts/account';
import { isAccountId, KEY_SCOPES } from '#accounts/api-key';
import { type Limits, limitsOf } from '#accounts/plan';
import { EXPORT_FORMAT, EXPORT_VERSION } from '#ctl/export/lines';
import { ContextJson } from '#edge/endpoints/observations';
import { CreateInstance, Tags } from '#edge/schemas/instance';
import { compactJson, parseJsonBody } from '#edge/serve/json';
import { MODE_KEYS } from '#identity/modes';
import {
  AccountName,
  KeyName,
  KeyNetworks,
  LimitsWire,
  RetentionWire,
} from '#limiter/admin/schema';
import { defined } from '#stdlib/defined';
import { STATE_CAUSES } from '#storage/ports/states';

/* Schemas of export lines, by kind. Strict: unknown fields are refused, not dropped. */

const Count = z.int().min(0);
const Ordinal = z.int().min(1);
const Time = z.number();
const AccountId = z.string().refine(isAccountId, 'this is not the id of an account');

/** A context in the service's stored form that the API would accept. */
const Context = z.string().check(({ value, issues }) => {
  const message = flawOfContext(value);
  if (message !== undefined) issues.push({ code: 'custom', input: value, message });
});

/**
 * Maximum length of JSON text in a drift event, in characters. The model writes 1,200 characters;
 * the rest is reserved for later releases.
 */
const DRIFT_TEXT_MAX = 8_192;

/** JSON text in the service's compact form, because answers and streams contain it unchanged. */
const jsonText = (isWanted: (value: unknown) => boolean) =>
  z
    .string()
    .max(DRIFT_TEXT_MAX)
    .refine((text) => isWritten(text, isWanted), 'unexpected JSON');
const Deviation = jsonText(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const AffectedModes = jsonText((value) => z.array(z.enum(MODE_KEYS)).safeParse(value).success);

/** The doubles of a state, little-endian, in base64. The model version determines their number. */
const Model = z.base64().transform((text) => Buffer.from(text, 'base64'));

const ModelVersion = z.string().min(1).max(100);

const HeaderLine = z.strictObject({
  kind: z.literal('export'),
  format: z.literal(EXPORT_FORMAT),
  version: z.literal(EXPORT_VERSION, `this program reads version ${EXPORT_VERSION} only`),
  account: AccountId,
  service_version: z.string().max(100),
  exported_at: z.iso.datetime(),
});

const PlanName = z.enum(['free', 'indie', 'pro', 'enterprise']);

const PlanChangeLine = LimitsWire.extend({ plan: PlanName, from: PlanName, at_ms: Time });

/** Whether limits stay within the limits of their plan. `enterprise` has custom limits. */
function isWithinPlan(line: z.infer<typeof LimitsWire> & { plan: z.infer<typeof PlanName> }) {
  if (line.plan === 'enterprise') return true;
  const most = limitsOf({ plan: line.plan });
  return (
    line.requests_per_minute <= most.requestsPerMinute &&
    line.cycles_per_month <= most.cyclesPerMonth &&
    line.instances <= most.instances
  );
}

const ABOVE_PLAN = 'the limits exceed the limits of the plan';

const AccountLine = LimitsWire.extend({
  kind: z.literal('account'),
  id: AccountId,
  name: AccountName,
  plan: PlanName,
  plan_change: PlanChangeLine.refine(isWithinPlan, ABOVE_PLAN).optional(),
  status: z.enum(['active', 'suspended']),
  model_version: ModelVersion.optional(),
  retention_days: RetentionWire.optional(),
  created_at_ms: Time,
}).refine(isWithinPlan, ABOVE_PLAN);

const KeyId = z.string().regex(/^key_[0-9a-f]{16}$/);

const KeyLine = z.strictObject({
  kind: z.literal('key'),
  id: KeyId,
  digest: z.string().regex(/^[\w-]{43}$/),
  scope: z.enum(KEY_SCOPES),
  created_at_ms: z.int(),
  revoked_at_ms: z.int().optional(),
  expires_at_ms: z.int().optional(),
  name: KeyName.optional(),
  hint: z
    .string()
    .regex(/^[0-9A-Za-z]{4}$/)
    .optional(),
  networks: KeyNetworks.optional(),
  disabled_at_ms: z.int().optional(),
  replaced_by: KeyId.optional(),
  created_by: z.string().max(100).optional(),
});

const InstanceLine = z.strictObject({
  kind: z.literal('instance'),
  id: z.string().regex(/^inst_[0-9a-f]{16}$/),
  version: Ordinal,
  name: CreateInstance.shape.name,
  description: CreateInstance.shape.description.unwrap(),
  tags: Tags.optional(),
  created_at_ms: Time,
  updated_at_ms: Time,
  changed_at_ms: Time.optional(),
  origin_ms: Time,
  observed_at_ms: Time.optional(),
  generation: Ordinal,
  history_count: Count,
  history_start: Count,
  drift_count: Count,
  drift_start: Count,
  model_version: ModelVersion,
  model: Model,
  trimmed_history: Count.optional(),
  trimmed_drift: Count.optional(),
  trimmed_generation: Ordinal.optional(),
  trimmed_cycle: Count.optional(),
  trimmed_timestamp_ms: Time.optional(),
  trimmed_model: Model.optional(),
});

const StateLine = z.strictObject({
  kind: z.literal('state'),
  generation: Ordinal,
  cycle: Count,
  ordinal: Count,
  cause: z.enum(STATE_CAUSES),
  origin_ms: Time,
  observed_at_ms: Time.optional(),
  model_version: ModelVersion,
  model: Model,
});

const ObservationLine = z.strictObject({
  kind: z.literal('observation'),
  ordinal: Ordinal,
  generation: Ordinal,
  cycle: Ordinal,
  mode: z.enum(MODE_KEYS),
  signal: z.number().min(0).max(1),
  confidence: z.number().min(0).max(1),
  context: Context,
  timestamp_ms: Time,
});

const DriftLine = z.strictObject({
  kind: z.literal('drift'),
  ordinal: Ordinal,
  generation: Ordinal,
  cycle: Ordinal,
  level: z.enum(['D1', 'D2', 'D3']),
  deviation: Deviation,
  affected_modes: AffectedModes,
  rolled_back: z.boolean(),
  timestamp_ms: Time,
});

const EndLine = z.strictObject({
  kind: z.literal('end'),
  keys: Count,
  instances: Count,
  observations: Count,
  drift_events: Count,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** Any line of an export. */
export const ExportLine = z.discriminatedUnion('kind', [
  HeaderLine,
  AccountLine,
  KeyLine,
  InstanceLine,
  StateLine,
  ObservationLine,
  DriftLine,
  EndLine,
]);

/** A line of an export that has been read. */
export type ExportLine = z.infer<typeof ExportLine>;

/** The line of one kind. */
export type LineOf<Kind extends ExportLine['kind']> = Extract<ExportLine, { kind: Kind }>;

/**
 * Reason why the API would refuse a context, or why the text is not in the service's stored form.
 * Undefined if the context is valid.
 */
function flawOfContext(text: string): string | undefined {
  try {
    const body = parseJsonBody(Buffer.from(`{"context":${text}}`)) as { context: unknown };
    const { data, error } = ContextJson.safeParse(body.context);
    if (error !== undefined) return error.issues[0]?.message;
    return data === text ? undefined : 'is not in the compact form that the service writes';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether a text is compact JSON of the expected kind, without duplicate keys or deep nesting. */
function isWritten(text: string, isWanted: (value: unknown) => boolean): boolean {
  try {
    const body = parseJsonBody(Buffer.from(`{"value":${text}}`)) as Record<string, unknown>;
    return Object.keys(body).length === 1 && isWanted(body['value']) && compactJson(text) === text;
  } catch {
    return false;
  }
}

/** Converts a key line to a key record. */
export function keyOf(line: LineOf<'key'>): ApiKeyRecord {
  return defined<ApiKeyRecord>({
    id: line.id,
    digest: line.digest,
    scope: line.scope,
    createdAtMs: line.created_at_ms,
    revokedAtMs: line.revoked_at_ms,
    expiresAtMs: line.expires_at_ms,
    name: line.name,
    hint: line.hint,
    networks: line.networks,
    disabledAtMs: line.disabled_at_ms,
    replacedBy: line.replaced_by,
    createdBy: creatorFrom(line.created_by),
  });
}

/**
 * Returns the key records to write: none if the key is unchanged or revoked, because revocation is
 * final. A changed key is written: an older file may have imported it with wider rights.
 */
export function missing(
  key: ApiKeyRecord,
  there: readonly ApiKeyRecord[],
): readonly ApiKeyRecord[] {
  const found = there.find(({ id }) => id === key.id);
  if (found?.revokedAtMs !== undefined || isDeepStrictEqual(found, key)) return [];
  return [key];
}

/** Plan and limits of an exported account, and its scheduled plan change, if any. */
export function importedPlan(
  line: LineOf<'account'>,
): Pick<Account, 'plan' | 'limits' | 'planChange'> {
  const { plan, plan_change: change } = line;
  const present = { plan, limits: importedLimitsOf(line) };
  if (change === undefined) return present;
  const { at_ms: atMs, from } = change;
  return {
    ...present,
    planChange: { plan: change.plan, limits: importedLimitsOf(change), atMs, from },
  };
}

function importedLimitsOf(line: z.infer<typeof LimitsWire>): Limits {
  return {
    requestsPerMinute: line.requests_per_minute,
    cyclesPerMonth: line.cycles_per_month,
    instances: line.instances,
  };
}
