import { z } from 'zod';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import type { StoredAuditLine } from '#storage/ports/audit';

/**
 * Actor kinds: API key, signed-in user, operator (`ctl`, admin port), payment provider, the service
 * itself, or unauthenticated caller.
 */
const ACTOR_KINDS = ['key', 'user', 'operator', 'provider', 'service', 'anonymous'] as const;

/**
 * Action outcomes. A durable `begun` line precedes the action. A second line has the result: `done`
 * or an error code. A write to an instance gets a second line only if refused, or with `repeated`
 * if the stored answer was sent again (decision 249).
 */
const OUTCOMES = ['begun', 'done', 'repeated', ...(Object.keys(FAULTS) as FaultCode[])] as const;

const Details = z.record(z.string(), z.json());

/* Readers ignore unknown fields, because two releases share the same trails (decision 239). */

/** An action for an account's audit trail, described by the process that performs the action. */
export const AuditEntry = z.object({
  actor: z.object({
    kind: z.enum(ACTOR_KINDS),
    /** Id of the key or user, or of the operator's admin token (decision 142). */
    id: z.string().min(1).max(128).optional(),
    /** Session id, for a user. */
    session: z.string().min(1).max(128).optional(),
    /** User name sent by `ctl`, not authenticated. */
    name: z.string().min(1).max(128).optional(),
  }),
  /** Client address. */
  address: z.string().max(64).optional(),
  requestId: z.string().max(128).optional(),
  /** Action name, such as `key.revoke`. Page filters match whole-word prefixes. */
  action: z
    .string()
    .regex(/^[a-z]+(?:[._][a-z]+)*$/)
    .max(48),
  /** Target object id. */
  target: z.string().min(1).max(128).optional(),
  outcome: z.enum(OUTCOMES),
  /** Month and line number: the `begun` line that this line completes. */
  of: z.string().max(24).optional(),
  before: Details.optional(),
  after: Details.optional(),
});

/** An action for an account's audit trail. */
export type AuditEntry = z.infer<typeof AuditEntry>;

/** Parses a stored line; undefined if the text is invalid. */
export function lineIn(text: string): AuditLine | undefined {
  try {
    return AuditLine.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * State before or after an action, in the form stored in a line. Drops undefined values and every
 * API key: only the answer that creates a key contains the key.
 */
export function detailsOf(shown: object): NonNullable<AuditEntry['after']> {
  const text = JSON.stringify(shown, (name, value) => (name === 'key' ? undefined : value));
  return Details.parse(JSON.parse(text));
}

/** Previous month's head when a month's first line was written. */
const PreviousMonth = z.object({ month: z.string(), lines: z.int(), hash: z.string() });

/** A line as stored and shown: the entry with its month, number and time. */
export const AuditLine = z.object({
  account_id: z.string(),
  month: z.string(),
  /** Line number within the month, from 1. */
  seq: z.int().min(1),
  at: z.iso.datetime(),
  actor: AuditEntry.shape.actor.extend({ kind: z.string() }),
  address: z.string().optional(),
  request_id: z.string().optional(),
  action: z.string(),
  target: z.string().optional(),
  outcome: z.string(),
  of: z.string().optional(),
  before: Details.optional(),
  after: Details.optional(),
  /** Only in a month's first line; absent in the account's first month. */
  previous: PreviousMonth.optional(),
});

/** A line as stored and shown. */
export type AuditLine = z.infer<typeof AuditLine>;

/** An exported trail line: the hashed text with its hash as last field. */
export function exportedText({ text, hash }: StoredAuditLine): string {
  return `${text.slice(0, -1)},"hash":"${hash}"}`;
}
