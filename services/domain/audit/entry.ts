import { z } from 'zod';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import type { StoredAuditLine } from '#storage/ports/audit';

/**
 * Kinds of actors: holder of an API key, signed-in user, operator (`ctl`, admin port), payment
 * provider, the service itself, or an unauthenticated caller.
 */
const ACTOR_KINDS = ['key', 'user', 'operator', 'provider', 'service', 'anonymous'] as const;

/**
 * Outcomes of an action. A durable `begun` line precedes the action. A second line has the result:
 * `done` or the code of a refusal. A write to an instance gets a second line only if refused, or
 * `repeated` if its earlier answer was sent again (decision 249).
 */
const OUTCOMES = ['begun', 'done', 'repeated', ...(Object.keys(FAULTS) as FaultCode[])] as const;

const Details = z.record(z.string(), z.json());

/*
 * Readers of lines ignore unknown fields, because nodes of two releases read and write the same
 * trails (decision 239).
 */

/** An action for an account's audit trail, as described by the process that performs it. */
export const AuditEntry = z.object({
  actor: z.object({
    kind: z.enum(ACTOR_KINDS),
    /** Id of the key or user, or of the token that an operator presented (decision 142). */
    id: z.string().min(1).max(128).optional(),
    /** Session of a user. */
    session: z.string().min(1).max(128).optional(),
    /** The user name that `ctl` sent. Not proven. */
    name: z.string().min(1).max(128).optional(),
  }),
  /** Address of the client. */
  address: z.string().max(64).optional(),
  requestId: z.string().max(128).optional(),
  /** Action name, such as `key.revoke`. The filter of a page matches it from the start. */
  action: z
    .string()
    .regex(/^[a-z]+(?:[._][a-z]+)*$/)
    .max(48),
  /** Id of the target. */
  target: z.string().min(1).max(128).optional(),
  outcome: z.enum(OUTCOMES),
  /** Place of the `begun` line that this line ends: month and line number. */
  of: z.string().max(24).optional(),
  before: Details.optional(),
  after: Details.optional(),
});

/** An action for an account's audit trail. */
export type AuditEntry = z.infer<typeof AuditEntry>;

/** The line in a stored text; undefined if the text is not a valid line. */
export function lineIn(text: string): AuditLine | undefined {
  try {
    return AuditLine.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * State before or after an action, as a line stores it. Drops undefined values and every API key:
 * only the answer that creates a key contains it.
 */
export function detailsOf(shown: object): NonNullable<AuditEntry['after']> {
  const text = JSON.stringify(shown, (name, value) => (name === 'key' ? undefined : value));
  return Details.parse(JSON.parse(text));
}

/** Head of the previous month when a month's first line was written. */
const PreviousMonth = z.object({ month: z.string(), lines: z.int(), hash: z.string() });

/** A line as stored and shown: the entry with its place and time. */
export const AuditLine = z.object({
  account_id: z.string(),
  month: z.string(),
  /** Number of the line in the account's month, from 1. */
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
  /** Only in the first line of a month, and absent in the account's first month. */
  previous: PreviousMonth.optional(),
});

/** A line as stored and shown. */
export type AuditLine = z.infer<typeof AuditLine>;

/** A line in an exported trail: the hashed text, with its hash as last field. */
export function exportedText({ text, hash }: StoredAuditLine): string {
  return `${text.slice(0, -1)},"hash":"${hash}"}`;
}
