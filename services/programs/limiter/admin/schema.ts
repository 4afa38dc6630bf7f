import { z } from 'zod';
import { KEY_NAME, KEY_NETWORKS_MAX } from '#accounts/account';
import { KEY_SCOPES } from '#accounts/api-key';
import { CUSTOM_LIMITS_MAX, RETENTION_DAYS_MAX } from '#accounts/plan';
import { MODELS } from '#identity/model';
import { networkText, readNetwork } from '#stdlib/network';
import { ACCOUNTS_PAGE_MAX } from '#storage/ports/accounts';

/**
 * The admin port's request and answer schemas, snake_case on the wire. `ctl` parses answers with
 * the same schemas, so both sides change together.
 */

/** Account name, without control characters, because terminals print account names. */
export const AccountName = z
  .string()
  .regex(/^\P{C}{1,100}$/u, '1 to 100 characters, none of them invisible');

const whole = (max: number) => z.int().min(1).max(max);

/** Account limits. */
export const LimitsWire = z.strictObject({
  requests_per_minute: whole(CUSTOM_LIMITS_MAX.requestsPerMinute),
  cycles_per_month: whole(CUSTOM_LIMITS_MAX.cyclesPerMonth),
  instances: whole(CUSTOM_LIMITS_MAX.instances),
});

const Bought = z.strictObject({ plan: z.enum(['free', 'indie', 'pro']) });
const Agreed = z.strictObject({
  plan: z.literal('enterprise'),
  limits: LimitsWire.partial({ instances: true }),
});

/** Body for `PUT /accounts/{id}/plan`. Only an enterprise plan has limits. */
export const PlanBody = z.discriminatedUnion('plan', [Bought, Agreed]);

/** Body for `POST /accounts`. */
export const AccountBody = z.discriminatedUnion('plan', [
  Bought.extend({ name: AccountName }),
  Agreed.extend({ name: AccountName }),
]);

/** Body for `PUT /accounts/{id}/status`. */
export const StatusBody = z.strictObject({ status: z.enum(['active', 'suspended']) });

/** Body for `PUT /accounts/{id}/model`: a model version of this release; null: no selection. */
export const ModelBody = z.strictObject({ model_version: z.enum(MODELS.versions).nullable() });

/** Row retention in days; `none`: rows are kept forever. */
export const RetentionWire = z.union([whole(RETENTION_DAYS_MAX), z.literal('none')], {
  error: `must be days from 1 to ${RETENTION_DAYS_MAX}, or none`,
});

/** Body for `PUT /accounts/{id}/retention`; null: use the plan's retention again. */
export const RetentionBody = z.strictObject({ retention_days: RetentionWire.nullable() });

/** Key name. */
export const KeyName = z.string().regex(KEY_NAME, '1 to 64 characters, none of them invisible');

/** An address or network in CIDR notation, normalised. */
const KeyNetwork = z
  .string()
  .refine(
    (text) => readNetwork(text) !== undefined,
    'must be an address or a network: 192.0.2.0/24',
  )
  .transform((text) => {
    const network = readNetwork(text);
    return network === undefined ? text : networkText(network);
  });

/** Networks to which a key is bound, without duplicates. */
export const KeyNetworks = z
  .array(KeyNetwork)
  .min(1)
  .max(KEY_NETWORKS_MAX)
  .transform((networks) => [...new Set(networks)]);

/** Scope for a new or changed key. */
const Scope = z.enum(KEY_SCOPES, {
  error: 'must be full or read, audit and billing, in this order, with spaces between them',
});

/** Body for `POST /accounts/{id}/keys`. */
export const KeyBody = z.strictObject({
  name: KeyName.optional(),
  scope: Scope,
  expires_at: z.iso.datetime({ offset: true }).optional(),
  networks: KeyNetworks.optional(),
});

/** Body for `PUT /accounts/{id}/keys/{key}/name`. */
export const KeyNameBody = z.strictObject({ name: KeyName });

/** Body for `PUT /accounts/{id}/keys/{key}/scope`. */
export const KeyScopeBody = z.strictObject({ scope: Scope });

/** Grace periods for rotated keys, in milliseconds. Source: decision 242. */
export const GRACE_MS = {
  '0': 0,
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
} as const;

/** Body for `POST /accounts/{id}/keys/{key}/rotate`. */
export const RotationBody = z.strictObject({ grace: z.enum(['0', '1h', '24h', '7d']) });

/** Query for `GET /accounts`: accounts ordered by id, starting after id `after`. */
export const AccountsQuery = z.strictObject({
  after: z.string().optional(),
  limit: z.coerce.number().pipe(whole(ACCOUNTS_PAGE_MAX)).default(ACCOUNTS_PAGE_MAX),
});

const PlanName = z.enum(['free', 'indie', 'pro', 'enterprise']);

/** An account in admin port answers. */
export const AccountView = z.object({
  id: z.string(),
  name: z.string(),
  plan: PlanName,
  status: z.enum(['active', 'suspended', 'importing', 'deleting']),
  limits: LimitsWire,
  /** Scheduled plan change. Absent: no plan change is scheduled. */
  plan_change: z.object({ plan: PlanName, limits: LimitsWire, at: z.string() }).optional(),
  /** Model selected for the instances. Absent: no model is selected. */
  model_version: z.string().optional(),
  /** Retention of the account itself. Absent: the plan's retention applies. */
  retention_days: RetentionWire.optional(),
  created_at: z.string(),
});

/** An account page. After a full page, more accounts may follow. */
export const AccountsView = z.array(AccountView);

/**
 * A key without its secret. Scope, status and hints accept any text, so that a later release's
 * values still parse.
 */
export const KeyView = z.object({
  id: z.string(),
  name: z.string().optional(),
  /** Masked key: `svc_sk_…` and the last characters of the secret. */
  masked: z.string().optional(),
  scope: z.string(),
  /** `active`, `disabled`, `revoked` or `expired`. */
  status: z.string(),
  /** Networks from which calls are accepted. Absent: any address. */
  networks: z.array(z.string()).optional(),
  created_at: z.string(),
  disabled_at: z.string().optional(),
  revoked_at: z.string().optional(),
  expires_at: z.string().optional(),
  /** Id of the key that replaced this key. */
  replaced_by: z.string().optional(),
  /** `kind` is `user` or `operator`. Absent: an older release did not record the creator. */
  created_by: z.object({ kind: z.string(), id: z.string() }).optional(),
  /** Last recorded use. Absent: no use is recorded. */
  last_used: z
    .object({
      /** Last use time, truncated to minutes. */
      at: z.string(),
      address: z.string().optional(),
      client: z.string().optional(),
    })
    .optional(),
  /** `never_used`, `idle_90_days`, `no_expiry`; absent if the answer has no last use. */
  hints: z.array(z.string()).optional(),
});

/** An account's keys, oldest first. */
export const KeysView = z.array(KeyView);

/** A new key with its secret. Only the creating call returns the secret. */
export const NewKeyView = KeyView.extend({ key: z.string() });

/** A rotation's new key with its secret, and the replaced key. */
export const RotationView = NewKeyView.extend({ replaced: KeyView });

/** Cycles by UTC day. */
const DaysView = z.array(z.object({ date: z.string(), cycles: z.int() }));

/** Usage by key in a month, most used first. */
const KeysOfMonthView = z.array(
  z.object({ id: z.string(), name: z.string().optional(), cycles: z.int() }),
);

/** Account usage. */
export const UsageView = z.object({
  account_id: z.string(),
  requests_per_minute: z.int(),
  requests_in_window: z.int(),
  /** Window watermark: requests that need no further journal record. */
  window_mark: z.int(),
  /** End of the window. Absent between two windows. */
  window_resets_at: z.string().optional(),
  cycles_per_month: z.int(),
  cycles_used: z.int(),
  cycles_reserved: z.int(),
  cycles_remaining: z.int(),
  /** Month watermark: cycles that need no further journal record. */
  month_mark: z.int(),
  /** Used cycles from reservations that expired without settlement. */
  cycles_expired: z.int(),
  /** Used cycles that crashes may have lost. */
  cycles_lost: z.int(),
  month_ends_at: z.string(),
  /** Cycles per UTC day up to today, in total `cycles_used`; empty if no cycles were used. */
  days: DaysView,
  /** Cycles per key. Together with `other_cycles`, the total is `cycles_used`. */
  keys: KeysOfMonthView,
  other_cycles: z.int(),
});

/** An account's months, newest first: the present month and finished months. */
export const MonthsView = z.array(
  z.object({
    /** Month, such as `2026-01`. */
    month: z.string(),
    cycles: z.int(),
    days: DaysView,
    /** Cycles per key. Together with `other_cycles`, the total is `cycles`. */
    keys: KeysOfMonthView,
    other_cycles: z.int(),
  }),
);

/** An audit trail's months with their hash chain heads, oldest first. */
export const AuditMonthsView = z.object({
  months: z.array(z.object({ month: z.string(), lines: z.int(), hash: z.string() })),
  /** First month within the plan's retention; absent: all months are kept. */
  kept_from: z.string().optional(),
});

/** Query for `GET /accounts/{id}/audit/{month}`. */
export const AuditLinesQuery = z.strictObject({
  after: z.coerce.number().pipe(z.int().min(0)).default(0),
});

/** Stored lines of a month, oldest first. Pass `next` as `after` in the next request. */
export const AuditLinesView = z.object({
  lines: z.array(z.object({ seq: z.int(), text: z.string(), hash: z.string() })),
  next: z.int().optional(),
});

/** An error answer in public API format (interface 7). */
export const RefusalView = z.object({ error: z.string(), message: z.string() });
