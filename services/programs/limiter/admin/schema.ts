import { z } from 'zod';
import { KEY_NAME, KEY_NETWORKS_MAX } from '#accounts/account';
import { KEY_SCOPES } from '#accounts/api-key';
import { CUSTOM_LIMITS_MAX, RETENTION_DAYS_MAX } from '#accounts/plan';
import { MODELS } from '#identity/model';
import { networkText, readNetwork } from '#stdlib/network';
import { ACCOUNTS_PAGE_MAX } from '#storage/ports/accounts';

/**
 * Request and answer schemas of the admin port, snake_case on the wire. `ctl` parses answers with
 * the same schemas, so that both sides change together.
 */

/** Name of an account. `ctl` prints names, so terminal control characters are forbidden. */
export const AccountName = z
  .string()
  .regex(/^\P{C}{1,100}$/u, '1 to 100 characters, none of them invisible');

const whole = (max: number) => z.int().min(1).max(max);

/** Limits of an account. */
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

/** Body of `PUT /accounts/{id}/plan`. An enterprise plan has its own limits. */
export const PlanBody = z.discriminatedUnion('plan', [Bought, Agreed]);

/** Body of `POST /accounts`. */
export const AccountBody = z.discriminatedUnion('plan', [
  Bought.extend({ name: AccountName }),
  Agreed.extend({ name: AccountName }),
]);

/** Body of `PUT /accounts/{id}/status`. */
export const StatusBody = z.strictObject({ status: z.enum(['active', 'suspended']) });

/** Body of `PUT /accounts/{id}/model`: a model version of this release, or null for none. */
export const ModelBody = z.strictObject({ model_version: z.enum(MODELS.versions).nullable() });

/** Days that rows are kept; `none`: without an end. */
export const RetentionWire = z.union([whole(RETENTION_DAYS_MAX), z.literal('none')], {
  error: `must be days from 1 to ${RETENTION_DAYS_MAX}, or none`,
});

/** Body of `PUT /accounts/{id}/retention`; null restores the plan's retention. */
export const RetentionBody = z.strictObject({ retention_days: RetentionWire.nullable() });

/** Name of a key. */
export const KeyName = z.string().regex(KEY_NAME, '1 to 64 characters, none of them invisible');

/** A network in CIDR notation or an address, normalised. */
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

/** Networks that a key is bound to, without duplicates. */
export const KeyNetworks = z
  .array(KeyNetwork)
  .min(1)
  .max(KEY_NETWORKS_MAX)
  .transform((networks) => [...new Set(networks)]);

/** Scope of a new or changed key. */
const Scope = z.enum(KEY_SCOPES, {
  error: 'must be full or read, audit and billing, in this order, with spaces between them',
});

/** Body of `POST /accounts/{id}/keys`. */
export const KeyBody = z.strictObject({
  name: KeyName.optional(),
  scope: Scope,
  expires_at: z.iso.datetime({ offset: true }).optional(),
  networks: KeyNetworks.optional(),
});

/** Body of `PUT /accounts/{id}/keys/{key}/name`. */
export const KeyNameBody = z.strictObject({ name: KeyName });

/** Body of `PUT /accounts/{id}/keys/{key}/scope`. */
export const KeyScopeBody = z.strictObject({ scope: Scope });

/** Grace periods of a rotated key, in milliseconds. Source: decision 242. */
export const GRACE_MS = {
  '0': 0,
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
} as const;

/** Body of `POST /accounts/{id}/keys/{key}/rotate`. */
export const RotationBody = z.strictObject({ grace: z.enum(['0', '1h', '24h', '7d']) });

/** Query of `GET /accounts`: accounts with ids after `after`, ordered by id. */
export const AccountsQuery = z.strictObject({
  after: z.string().optional(),
  limit: z.coerce.number().pipe(whole(ACCOUNTS_PAGE_MAX)).default(ACCOUNTS_PAGE_MAX),
});

const PlanName = z.enum(['free', 'indie', 'pro', 'enterprise']);

/** An account as the admin port shows it. */
export const AccountView = z.object({
  id: z.string(),
  name: z.string(),
  plan: PlanName,
  status: z.enum(['active', 'suspended', 'importing', 'deleting']),
  limits: LimitsWire,
  /** Absent: no change of plan is scheduled. */
  plan_change: z.object({ plan: PlanName, limits: LimitsWire, at: z.string() }).optional(),
  /** Absent: the account has selected no model. */
  model_version: z.string().optional(),
  /** Absent: the plan's retention applies. */
  retention_days: RetentionWire.optional(),
  created_at: z.string(),
});

/** A page of accounts. If the page is full, there may be more accounts after its last. */
export const AccountsView = z.array(AccountView);

/**
 * A key as the admin port shows it, without its secret. Scope, status and hints accept any text, so
 * that a list with values of a later release still parses.
 */
export const KeyView = z.object({
  id: z.string(),
  name: z.string().optional(),
  /** Recognisable form of the key: `svc_sk_…` and the last characters of its secret. */
  masked: z.string().optional(),
  scope: z.string(),
  /** `active`, `disabled`, `revoked` or `expired`. */
  status: z.string(),
  /** Absent: usable from any address. */
  networks: z.array(z.string()).optional(),
  created_at: z.string(),
  disabled_at: z.string().optional(),
  revoked_at: z.string().optional(),
  expires_at: z.string().optional(),
  /** Id of the key that a rotation created as replacement. */
  replaced_by: z.string().optional(),
  /**
   * `kind` is `user` or `operator`. Absent: an older release created the key without recording
   * this.
   */
  created_by: z.object({ kind: z.string(), id: z.string() }).optional(),
  /** Absent: no use is recorded. */
  last_used: z
    .object({
      /** Time of the last use, in whole minutes. */
      at: z.string(),
      address: z.string().optional(),
      client: z.string().optional(),
    })
    .optional(),
  /** `never_used`, `idle_90_days`, `no_expiry`; absent if the last use is not looked up. */
  hints: z.array(z.string()).optional(),
});

/** All keys of an account, oldest first. */
export const KeysView = z.array(KeyView);

/** A new key with its secret, which is answered once. */
export const NewKeyView = KeyView.extend({ key: z.string() });

/** The new key of a rotation with its secret, which is answered once, and the replaced key. */
export const RotationView = NewKeyView.extend({ replaced: KeyView });

/** Cycles by UTC day. */
const DaysView = z.array(z.object({ date: z.string(), cycles: z.int() }));

/** Usage of keys in a month, most used first. */
const KeysOfMonthView = z.array(
  z.object({ id: z.string(), name: z.string().optional(), cycles: z.int() }),
);

/** Usage of an account. */
export const UsageView = z.object({
  account_id: z.string(),
  requests_per_minute: z.int(),
  requests_in_window: z.int(),
  /** Watermark of the window: requests that may be granted without another journal record. */
  window_mark: z.int(),
  /** Absent between two windows. */
  window_resets_at: z.string().optional(),
  cycles_per_month: z.int(),
  cycles_used: z.int(),
  cycles_reserved: z.int(),
  cycles_remaining: z.int(),
  /** Watermark of the month: cycles that may be granted without another journal record. */
  month_mark: z.int(),
  /** Used cycles from reservations that expired without a settlement. */
  cycles_expired: z.int(),
  /** Used cycles that may have been lost in crashes. */
  cycles_lost: z.int(),
  month_ends_at: z.string(),
  /** Cycles of each UTC day up to today. The sum is `cycles_used`; empty if no cycles were used. */
  days: DaysView,
  /** The sum of these cycles and `other_cycles` is `cycles_used`. */
  keys: KeysOfMonthView,
  other_cycles: z.int(),
});

/** Months of an account, newest first: the present month and finished months. */
export const MonthsView = z.array(
  z.object({
    /** Such as `2026-01`. */
    month: z.string(),
    cycles: z.int(),
    days: DaysView,
    /** The sum of these cycles and `other_cycles` is `cycles`. */
    keys: KeysOfMonthView,
    other_cycles: z.int(),
  }),
);

/** Months of an audit trail with the head of each hash chain, oldest first. */
export const AuditMonthsView = z.object({
  months: z.array(z.object({ month: z.string(), lines: z.int(), hash: z.string() })),
  /** The first month that the plan retains; absent if all months are retained. */
  kept_from: z.string().optional(),
});

/** Query of `GET /accounts/{id}/audit/{month}`. */
export const AuditLinesQuery = z.strictObject({
  after: z.coerce.number().pipe(z.int().min(0)).default(0),
});

/** Stored lines of a month, oldest first. `next` is the cursor of the next page. */
export const AuditLinesView = z.object({
  lines: z.array(z.object({ seq: z.int(), text: z.string(), hash: z.string() })),
  next: z.int().optional(),
});

/** A refusal in the format of the whole service (interface 7). */
export const RefusalView = z.object({ error: z.string(), message: z.string() });
