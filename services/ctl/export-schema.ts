import { z } from 'zod';
import { isAccountId } from '#accounts/api-key';
import { KEY_SCOPES } from '#accounts/key-scope';
import { EXPORT_FORMAT, EXPORT_VERSION } from '#ctl/export-lines';
import { MODE_KEYS } from '#identity/modes';
import {
  AccountName,
  KeyName,
  KeyNetworks,
  LimitsWire,
  RetentionWire,
} from '#limiter/admin-schema';

/* The lines of an export as they are read, by their kind; strict, so that nothing is dropped. */

const Count = z.int().min(0);
const Ordinal = z.int().min(1);
const Time = z.number();
const AccountId = z.string().refine(isAccountId, 'not the id of an account');
const Text = z.string().max(65_536);

/** JSON text of an object or a list: it goes as it is into answers. */
const jsonText = (isWanted: (value: unknown) => boolean) =>
  Text.refine((text) => isJson(text, isWanted), 'not the JSON that belongs here');
const JsonObject = jsonText(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const JsonList = jsonText(Array.isArray);

/** The doubles of a state, little-endian, in base64; how many they must be its model says. */
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

const AccountLine = LimitsWire.extend({
  kind: z.literal('account'),
  id: AccountId,
  name: AccountName,
  plan: PlanName,
  plan_change: PlanChangeLine.optional(),
  status: z.enum(['active', 'suspended']),
  model_version: ModelVersion.optional(),
  retention_days: RetentionWire.optional(),
  created_at_ms: Time,
});

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
  name: Text,
  description: Text,
  created_at_ms: Time,
  updated_at_ms: Time,
  origin_ms: Time,
  observed_at_ms: Time.optional(),
  generation: Ordinal,
  history_count: Count,
  history_start: Count,
  drift_count: Count,
  drift_start: Count,
  model_version: ModelVersion,
  model: Model,
  trimmed_history: Ordinal.optional(),
  trimmed_drift: Count.optional(),
  trimmed_generation: Ordinal.optional(),
  trimmed_cycle: Ordinal.optional(),
  trimmed_timestamp_ms: Time.optional(),
  trimmed_model: Model.optional(),
});

const ObservationLine = z.strictObject({
  kind: z.literal('observation'),
  ordinal: Ordinal,
  generation: Ordinal,
  cycle: Ordinal,
  mode: z.enum(MODE_KEYS),
  signal: z.number().min(0).max(1),
  confidence: z.number().min(0).max(1),
  context: JsonObject,
  timestamp_ms: Time,
});

const DriftLine = z.strictObject({
  kind: z.literal('drift'),
  ordinal: Ordinal,
  generation: Ordinal,
  cycle: Ordinal,
  level: z.enum(['D1', 'D2', 'D3']),
  deviation: JsonObject,
  affected_modes: JsonList,
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
  ObservationLine,
  DriftLine,
  EndLine,
]);

/** A line of an export that has been read. */
export type ExportLine = z.infer<typeof ExportLine>;

/** The line of one kind. */
export type LineOf<Kind extends ExportLine['kind']> = Extract<ExportLine, { kind: Kind }>;

function isJson(text: string, isWanted: (value: unknown) => boolean): boolean {
  try {
    return isWanted(JSON.parse(text));
  } catch {
    return false;
  }
}
