import { z } from 'zod';
import { KEY_NAME, KEY_NETWORKS_MAX } from '#accounts/account';
import { KEY_SCOPES } from '#accounts/api-key';
import { CUSTOM_LIMITS_MAX, RETENTION_DAYS_MAX } from '#accounts/plan';
import { MODELS } from '#identity/models';
import { networkText, readNetwork } from '#platform/network';
import { ACCOUNTS_PAGE_MAX } from '#storage/ports/accounts';

/**
 * What the admin port takes and gives, snake_case on the way. `ctl` reads answers with the same
 * schemas, so that neither side can change alone.
 */

/** Names are printed by `ctl`, so nothing in them may steer a terminal. */
export const AccountName = z
  .string()
  .regex(/^\P{C}{1,100}$/u, '1 to 100 characters, none of them invisible');

const whole = (max: number) => z.int().min(1).max(max);

/** What an account may do. */
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

/** Body of `PUT /accounts/{id}/plan`. Enterprise brings its own numbers. */
export const PlanBody = z.discriminatedUnion('plan', [Bought, Agreed]);

/** Body of `POST /accounts`. */
export const AccountBody = z.discriminatedUnion('plan', [
  Bought.extend({ name: AccountName }),
  Agreed.extend({ name: AccountName }),
]);

/** Body of `PUT /accounts/{id}/status`. */
export const StatusBody = z.strictObject({ status: z.enum(['active', 'suspended']) });

/** Body of `PUT /accounts/{id}/model`: a version that this limiter's release has, null: none. */
export const ModelBody = z.strictObject({ model_version: z.enum(MODELS.versions).nullable() });

/** Days that rows are kept, or for ever. */
export const RetentionWire = z.union([whole(RETENTION_DAYS_MAX), z.literal('none')], {
  error: `must be days from 1 to ${RETENTION_DAYS_MAX}, or none`,
});

/** Body of `PUT /accounts/{id}/retention`; null: what the plan says. */
export const RetentionBody = z.strictObject({ retention_days: RetentionWire.nullable() });

/** What a key is called. */
export const KeyName = z.string().regex(KEY_NAME, '1 to 64 characters, none of them invisible');

/** A network in CIDR notation or one address, made into its one text. */
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

/** The networks that a key is bound to, each once. */
export const KeyNetworks = z
  .array(KeyNetwork)
  .min(1)
  .max(KEY_NETWORKS_MAX)
  .transform((networks) => [...new Set(networks)]);

/** Scope of a key that is made or changed. */
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

/** How long a key that is rotated is let in beside the new one. Source: decision 242. */
export const GRACE_MS = {
  '0': 0,
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
} as const;

/** Body of `POST /accounts/{id}/keys/{key}/rotate`. */
export const RotationBody = z.strictObject({ grace: z.enum(['0', '1h', '24h', '7d']) });

/** Query of `GET /accounts`: the accounts behind `after`, in the order of their ids. */
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
  /** Absent: no other plan is to follow. */
  plan_change: z.object({ plan: PlanName, limits: LimitsWire, at: z.string() }).optional(),
  /** Absent: the account has chosen none. */
  model_version: z.string().optional(),
  /** Absent: what its plan says. */
  retention_days: RetentionWire.optional(),
  created_at: z.string(),
});

/** A page of accounts; there may be more behind the last one if the page is full. */
export const AccountsView = z.array(AccountView);

/**
 * A key as the admin port shows it: never its secret. Scope, status and hints are any text: a later
 * release may have more of them, and a list must not fail for that.
 */
export const KeyView = z.object({
  id: z.string(),
  name: z.string().optional(),
  /** What its owner recognises it by: `svc_sk_…` and the last characters of its secret. */
  masked: z.string().optional(),
  scope: z.string(),
  /** `active`, `disabled`, `revoked` or `expired`. */
  status: z.string(),
  /** Absent: it may be used from anywhere. */
  networks: z.array(z.string()).optional(),
  created_at: z.string(),
  disabled_at: z.string().optional(),
  revoked_at: z.string().optional(),
  expires_at: z.string().optional(),
  /** The key that a rotation put in its place. */
  replaced_by: z.string().optional(),
  /** Absent: a release made the key that did not record it. `kind` is `user` or `operator`. */
  created_by: z.object({ kind: z.string(), id: z.string() }).optional(),
  /** Absent: it has not been used, as far as is known. */
  last_used: z
    .object({
      /** The minute. */
      at: z.string(),
      address: z.string().optional(),
      client: z.string().optional(),
    })
    .optional(),
  /** `never_used`, `idle_90_days`, `no_expiry`; absent where it is not known when it was used. */
  hints: z.array(z.string()).optional(),
});

/** All keys of an account, oldest first. */
export const KeysView = z.array(KeyView);

/** A key that has just been made, with the key itself, this once. */
export const NewKeyView = KeyView.extend({ key: z.string() });

/** The key that a rotation has made, with the key itself, this once, and the one that it replaced. */
export const RotationView = NewKeyView.extend({ replaced: KeyView });

/** Cycles of UTC days. */
const DaysView = z.array(z.object({ date: z.string(), cycles: z.int() }));

/** What keys have used of a month, the most used first. */
const KeysOfMonthView = z.array(
  z.object({ id: z.string(), name: z.string().optional(), cycles: z.int() }),
);

/** What an account has used. */
export const UsageView = z.object({
  account_id: z.string(),
  requests_per_minute: z.int(),
  requests_in_window: z.int(),
  /** Requests of the window that may be granted without asking the journal again. */
  window_mark: z.int(),
  /** Absent between two windows. */
  window_resets_at: z.string().optional(),
  cycles_per_month: z.int(),
  cycles_used: z.int(),
  cycles_reserved: z.int(),
  cycles_remaining: z.int(),
  /** Cycles of the month that may be granted without asking the journal again. */
  month_mark: z.int(),
  /** Of the used ones: reserved and never settled. */
  cycles_expired: z.int(),
  /** Of the used ones: may have been lost in crashes. */
  cycles_lost: z.int(),
  month_ends_at: z.string(),
  /** Of each UTC day of the month up to today; they add up to `cycles_used`. Empty: none. */
  days: DaysView,
  /** With `other_cycles` they add up to `cycles_used`. */
  keys: KeysOfMonthView,
  other_cycles: z.int(),
});

/** Months of an account, newest first: the present one and those that are over. */
export const MonthsView = z.array(
  z.object({
    /** `2026-01`. */
    month: z.string(),
    cycles: z.int(),
    days: DaysView,
    /** With `other_cycles` they add up to `cycles`. */
    keys: KeysOfMonthView,
    other_cycles: z.int(),
  }),
);

/** Of an audit trail: how far each month has come, oldest first. */
export const AuditMonthsView = z.object({
  months: z.array(z.object({ month: z.string(), lines: z.int(), hash: z.string() })),
  /** The first month that the plan keeps; absent: all are kept. */
  kept_from: z.string().optional(),
});

/** Query of `GET /accounts/{id}/audit/{month}`. */
export const AuditLinesQuery = z.strictObject({
  after: z.coerce.number().pipe(z.int().min(0)).default(0),
});

/** Lines of a month as they are stored, oldest first, and where the next ones begin. */
export const AuditLinesView = z.object({
  lines: z.array(z.object({ seq: z.int(), text: z.string(), hash: z.string() })),
  next: z.int().optional(),
});

/** A refusal, as everywhere in the service (interface 7). */
export const RefusalView = z.object({ error: z.string(), message: z.string() });
