/** What a role allows, as `GET /api/me` names it. */
export type Permission =
  | 'keys.read'
  | 'keys.write'
  | 'instances.read'
  | 'instances.write'
  | 'usage.read'
  | 'billing'
  | 'members'
  | 'audit.read';

/** What a member can be in an account. */
export const ROLES = ['owner', 'developer', 'billing', 'viewer'] as const;

/** One of them. */
export type Role = (typeof ROLES)[number];

/** `GET /api/me`: who is signed in, and what they may do in the account that they look at. */
export type Me = {
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly second_factor: 'on' | 'off';
    readonly recovery_codes_left: number;
  };
  /** The name is null for an account that is gone. */
  readonly account: { readonly id: string; readonly name: string | null };
  readonly role: Role;
  readonly permissions: readonly Permission[];
  readonly session: { readonly id: string; readonly expires_at: string };
};

/** A row of `GET /api/accounts`. */
export type OwnAccount = { readonly id: string; readonly name: string | null; readonly role: Role };

/** How a sign-in goes on. */
export type SignInState = { readonly state: 'signed_in' | 'second_factor' };

/** A row of `GET /api/sessions`. */
export type SessionView = {
  readonly id: string;
  readonly is_current: boolean;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly address: string;
  readonly client: string;
  readonly authenticated_by: string;
};

/** A new second factor, which is not in use yet; shown once. */
export type Enrolment = { readonly secret: string; readonly uri: string };

/** New recovery codes; shown once. */
export type RecoveryCodes = { readonly recovery_codes: readonly string[] };

/** A member of the account. */
export type Member = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly joined_at: string;
};

/** An invitation that was not used yet. */
export type Invitation = {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly expires_at: string;
  /** The name of who invited; absent: not recorded. */
  readonly created_by?: string;
};

/** What a member who leaves, or may do less, leaves behind. */
export type Left = {
  readonly cancelled_invitations: readonly Invitation[];
  readonly keys: readonly KeyView[];
};

/** `GET /api/members`. */
export type People = {
  readonly members: readonly Member[];
  readonly invitations: readonly Invitation[];
};

/** A row of `GET /api/keys`. Scope, status and hints of a later release are shown as they are named. */
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
  /** A user with the name, or an operator; absent: not recorded. */
  readonly created_by?: { readonly kind: string; readonly id: string; readonly name?: string };
  readonly last_used?: { readonly at: string; readonly address?: string; readonly client?: string };
  readonly hints?: readonly string[];
};

/** A key that was just made, with the key itself, this once. */
export type NewKey = KeyView & { readonly key: string };

/** What a new key is made of. */
export type KeyWanted = {
  readonly name: string;
  readonly scope: string;
  readonly expires_at?: string;
  readonly networks?: readonly string[];
};

/** A line of the audit trail. */
export type AuditLine = {
  readonly month: string;
  readonly seq: number;
  readonly at: string;
  readonly actor: {
    readonly kind: string;
    readonly id?: string;
    readonly session?: string;
    readonly name?: string;
  };
  readonly address?: string;
  readonly request_id?: string;
  readonly action: string;
  readonly target?: string;
  readonly outcome: string;
  readonly of?: string;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
};

/** `GET /api/audit`, newest first. */
export type AuditPage = {
  readonly data: readonly AuditLine[];
  readonly pagination: { readonly limit: number; readonly next_cursor: string | null };
};

/** `GET /api/usage`. */
export type Usage = {
  /** Absent: the page names the limits only. */
  readonly plan?: string;
  readonly requests_per_minute: number;
  readonly requests_in_window: number;
  readonly window_resets_at?: string;
  readonly cycles_per_month: number;
  readonly cycles_used: number;
  readonly cycles_reserved: number;
  readonly cycles_remaining: number;
  readonly month_ends_at: string;
  /** A straight line through the month so far; absent: it is too early for one. */
  readonly forecast?: {
    readonly cycles: number;
    /** When the quota is used up; absent: not in this month. */
    readonly used_up_at?: string;
  };
};

/** A row of `GET /api/usage/months`: the present month first, its days up to today. */
export type UsageMonth = {
  /** `2026-01`. */
  readonly month: string;
  readonly cycles: number;
  readonly days: readonly { readonly date: string; readonly cycles: number }[];
  readonly keys: readonly {
    readonly id: string;
    readonly name?: string;
    readonly cycles: number;
  }[];
  /** Of no key that the account has. */
  readonly other_cycles: number;
};

/** `GET /api/usage/instances`: the present month. */
export type InstanceUsage = {
  /** `2026-01`. */
  readonly month: string;
  /** When this was found. */
  readonly as_of: string;
  /** Of the whole month. */
  readonly cycles: number;
  /** At most 20, the most cycles first. */
  readonly instances: readonly {
    readonly id: string;
    readonly name: string;
    readonly cycles: number;
  }[];
  /** Of none of them. */
  readonly other_cycles: number;
  readonly instances_total: number;
  /** How many of them were looked at. */
  readonly instances_listed: number;
  /** Whether no other instance has more cycles. */
  readonly is_complete: boolean;
};

/** `GET /api/billing`. */
export type Billing = {
  /** Absent: no payment provider is configured. */
  readonly provider?: string;
  readonly plan: string;
  readonly next_plan?: { readonly plan: string; readonly at: string };
  /** The one that counts, or the last one. */
  readonly subscription?: {
    readonly plan: string;
    readonly status: string;
    readonly period_ends_at: string;
    /** When it ends by itself; absent: it goes on. */
    readonly ends_at?: string;
    readonly payment_failed_at?: string;
    /** Until when the plan is kept although payments fail. */
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
