/*
 * Answers of the console's own routes, which routes and pages share. This file has no imports: the
 * pages run in a browser.
 */

/** Permissions in `GET /api/me`. */
export type Permission =
  | 'keys.read'
  | 'keys.write'
  | 'instances.read'
  | 'instances.write'
  | 'usage.read'
  | 'billing'
  | 'members'
  | 'audit.read';

/** Member roles. */
export const ROLES = ['owner', 'developer', 'billing', 'viewer'] as const;

/** Member role. */
export type Role = (typeof ROLES)[number];

/**
 * Answer of `GET /api/me`: the signed-in user, the selected account, and the user's permissions
 * there.
 */
export type Me = {
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly second_factor: 'on' | 'off';
    readonly recovery_codes_left: number;
  };
  /** The name is null if the account no longer exists. */
  readonly account: { readonly id: string; readonly name: string | null };
  readonly role: Role;
  readonly permissions: readonly Permission[];
  readonly session: { readonly id: string; readonly expires_at: string };
  /** Base URL of the API, ending in `/v1`. Absent if the console does not know the address. */
  readonly api_url?: string;
  /** Page with the API documentation. Absent if the API serves no documentation. */
  readonly api_docs_url?: string;
};

/** First steps of an account, in the order in which a new user takes the steps. */
export const STEPS = ['key', 'call', 'instance', 'observation', 'connection'] as const;

/** A first step of an account. */
export type Step = (typeof STEPS)[number];

/** Answer of `GET /api/start`. */
export type Start = {
  /** Number and maximum number of the account's instances. */
  readonly instances: { readonly count: number; readonly max: number };
  /** Whether each first step is done. Instances of a demonstration do not count. */
  readonly steps: Readonly<Record<Step, boolean>>;
};

/** Answer of the routes at `/api/demo-fleet`. */
export type DemoFleet = {
  /** Number of instances with the mark of the demonstration. */
  readonly instances: number;
  /** Number of agents in a complete demonstration. */
  readonly agents: number;
  /** Cycles that loading a complete demonstration costs. */
  readonly cycles: number;
  /** Tag of the instances. */
  readonly tag: { readonly key: string; readonly value: string };
};

/** Row of `GET /api/accounts`. */
export type OwnAccount = { readonly id: string; readonly name: string | null; readonly role: Role };

/** Next step of a sign-in. */
export type SignInState = { readonly state: 'signed_in' | 'second_factor' };

/** Row of `GET /api/sessions`. */
export type SessionView = {
  readonly id: string;
  readonly is_current: boolean;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly address: string;
  readonly client: string;
  readonly authenticated_by: string;
};

/** Secret of a second factor that is not confirmed yet. Shown only once. */
export type Enrolment = { readonly secret: string; readonly uri: string };

/** New recovery codes, shown once. */
export type RecoveryCodes = { readonly recovery_codes: readonly string[] };

/** A member of the account. */
export type Member = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly joined_at: string;
};

/** An open invitation. */
export type Invitation = {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly expires_at: string;
  /** Name of the inviting member. Absent if not recorded. */
  readonly created_by?: string;
};

/** Answer of `POST /api/entry-link`: an entry link that can still be used. */
export type EntryLinkView = {
  readonly account: { readonly id: string; readonly name: string | null };
  readonly role: Role;
  readonly expires_at: string;
  /** Invited email. Absent for a set-up link. */
  readonly email?: string;
  /** Name of the inviting member. Absent for a set-up link, and if not recorded. */
  readonly invited_by?: string;
};

/** Consequences when a member leaves or changes role. */
export type Left = {
  readonly cancelled_invitations: readonly Invitation[];
  readonly keys: readonly KeyView[];
};

/** Answer of `GET /api/members`. */
export type People = {
  readonly members: readonly Member[];
  readonly invitations: readonly Invitation[];
};

/**
 * Row of `GET /api/keys`. Unknown scopes, statuses and hints of later releases are shown unchanged.
 */
export type KeyView = {
  readonly id: string;
  readonly name?: string;
  /** `svc_sk_…` and the last characters of the secret. */
  readonly masked?: string;
  readonly scope: string;
  readonly status: string;
  readonly networks?: readonly string[];
  readonly created_at: string;
  readonly expires_at?: string;
  readonly replaced_by?: string;
  /** Creator: a user with a name, or an operator. Absent if not recorded. */
  readonly created_by?: { readonly kind: string; readonly id: string; readonly name?: string };
  readonly last_used?: { readonly at: string; readonly address?: string; readonly client?: string };
  readonly hints?: readonly string[];
};

/** A new key with its full value, shown once. */
export type NewKey = KeyView & { readonly key: string };

/** Body of `POST /api/keys`. */
export type KeyWanted = {
  readonly name: string;
  readonly scope: string;
  readonly expires_at?: string;
  readonly networks?: readonly string[];
};

/** Actor or target of an audited action. */
export type AuditParty = {
  readonly id?: string;
  /** Name of a user, key or instance. Absent if the name is not known. */
  readonly name?: string;
  /** Email of a user, or masked value of a key. */
  readonly more?: string;
};

/** Results of audited actions, as filters and answers name them. */
export const AUDIT_RESULTS = [
  'done',
  'repeated',
  'refused',
  'failed',
  'running',
  'unknown',
] as const;

/**
 * Result of an audited action. `repeated`: the stored answer of an earlier action was sent again.
 * `unknown`: the line with the outcome is missing.
 */
export type AuditResult = (typeof AUDIT_RESULTS)[number];

/** Row of `GET /api/audit`: an action, from one or two lines of the trail. */
export type AuditRow = {
  /** Place of the first line: month and number, such as `2026-01.17`. */
  readonly id: string;
  readonly at: string;
  readonly action: string;
  readonly actor: AuditParty & { readonly kind: string; readonly session?: string };
  readonly target?: AuditParty;
  readonly result: AuditResult;
  /** Error code of a refused or failed action. */
  readonly code?: string;
  /** Time between the two lines, in milliseconds. Absent without a second line. */
  readonly duration_ms?: number;
  readonly address?: string;
  readonly request_id?: string;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
  /** Places of the lines. */
  readonly lines: readonly string[];
};

/** Answer of `GET /api/audit`, newest actions first. */
export type AuditPage = {
  readonly data: readonly AuditRow[];
  readonly pagination: {
    readonly limit: number;
    readonly next_cursor: string | null;
    /** Time of the oldest line that was read. Null if no line was read. */
    readonly reached_at: string | null;
  };
};

/** Answer of `GET /api/usage`. */
export type Usage = {
  /** Name of the plan. If absent, the page shows only the limits. */
  readonly plan?: string;
  readonly requests_per_minute: number;
  readonly requests_in_window: number;
  readonly window_resets_at?: string;
  readonly cycles_per_month: number;
  readonly cycles_used: number;
  readonly cycles_reserved: number;
  readonly cycles_remaining: number;
  readonly month_ends_at: string;
  /** Linear forecast of the month. Absent if there is too little data. */
  readonly forecast?: {
    readonly cycles: number;
    /** Time when the quota will be used up. Absent if this time is not within the month. */
    readonly used_up_at?: string;
  };
};

/** Row of `GET /api/usage/months`, present month first. The days of the present month end today. */
export type UsageMonth = {
  /** UTC month, such as `2026-01`. */
  readonly month: string;
  readonly cycles: number;
  readonly days: readonly { readonly date: string; readonly cycles: number }[];
  readonly keys: readonly {
    readonly id: string;
    readonly name?: string;
    /** As in `KeyView`. */
    readonly masked?: string;
    readonly cycles: number;
  }[];
  /** Cycles without a known key. */
  readonly other_cycles: number;
};

/** Answer of `GET /api/usage/instances`, for the present month. */
export type InstanceUsage = {
  /** UTC month, such as `2026-01`. */
  readonly month: string;
  /** Time when the search ran. */
  readonly as_of: string;
  /** Cycles of the whole month. */
  readonly cycles: number;
  /** At most 20 instances, sorted by descending cycles. */
  readonly instances: readonly {
    readonly id: string;
    readonly name: string;
    readonly cycles: number;
  }[];
  /** Cycles of all other instances. */
  readonly other_cycles: number;
  readonly instances_total: number;
  /** Number of instances in the listing. The search read no other instances. */
  readonly instances_listed: number;
  /** Whether no other instance has more cycles. */
  readonly is_complete: boolean;
};

/** Answer of `GET /api/billing`. */
export type Billing = {
  /** Name of the payment provider. Absent if no payment provider is configured. */
  readonly provider?: string;
  readonly plan: string;
  readonly next_plan?: { readonly plan: string; readonly at: string };
  /** The active subscription. If no subscription is active, the last one. */
  readonly subscription?: {
    readonly plan: string;
    readonly status: string;
    readonly period_ends_at: string;
    /** End of a cancelled subscription. Absent if the subscription renews. */
    readonly ends_at?: string;
    readonly payment_failed_at?: string;
    /** Time until which the plan is kept despite failed payments. */
    readonly kept_until?: string;
  };
  readonly may_subscribe: boolean;
  readonly may_manage: boolean;
  readonly plans: readonly {
    readonly plan: string;
    readonly requests_per_minute: number;
    readonly cycles_per_month: number;
    readonly instances: number;
  }[];
};
