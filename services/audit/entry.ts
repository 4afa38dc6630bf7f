import { z } from 'zod';
import { FAULTS, type FaultCode } from '#fault/error-codes';
import type { StoredAuditLine } from '#storage/ports/audit';

/**
 * Who does something: the holder of an API key, a signed-in user, an operator (`ctl`, admin port), the
 * payment provider, the service itself, or a caller that has not shown who it is.
 */
const ACTOR_KINDS = ['key', 'user', 'operator', 'provider', 'service', 'anonymous'] as const;

/**
 * What a line says of its action. It is `begun` in the line that is durable before it happens; how it
 * ended, `done` or the code of its refusal, says a second line. Of writes to instances only a refusal
 * has one, or that it had been done before and was answered again (decision 249).
 */
const OUTCOMES = ['begun', 'done', 'repeated', ...(Object.keys(FAULTS) as FaultCode[])] as const;

const Details = z.record(z.string(), z.json());

/*
 * Fields that only a later release knows are passed over wherever lines are read (decision 239): nodes of
 * both releases read and write the same trails.
 */

/** One action of an account's audit trail, as the process that performs it describes it. */
export const AuditEntry = z.object({
  actor: z.object({
    kind: z.enum(ACTOR_KINDS),
    /** Id of the key, the user, or the token that an operator has shown (decision 142). */
    id: z.string().min(1).max(128).optional(),
    /** Of a user. */
    session: z.string().min(1).max(128).optional(),
    /** The user that `ctl` says it runs for. Not proven. */
    name: z.string().min(1).max(128).optional(),
  }),
  /** Where it came from. */
  address: z.string().max(64).optional(),
  requestId: z.string().max(128).optional(),
  /** What is done to what, `key.revoke`: the filter of a page matches it from its start. */
  action: z
    .string()
    .regex(/^[a-z]+(?:[._][a-z]+)*$/)
    .max(48),
  /** Id of what it is done to. */
  target: z.string().min(1).max(128).optional(),
  outcome: z.enum(OUTCOMES),
  /** The line whose action this one ends: its month and its number there. */
  of: z.string().max(24).optional(),
  before: Details.optional(),
  after: Details.optional(),
});

/** The same as a type. */
export type AuditEntry = z.infer<typeof AuditEntry>;

/** The line in a stored text; undefined: there is none, so it was not written so. */
export function lineIn(text: string): AuditLine | undefined {
  try {
    return AuditLine.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * What an action was before or after as a line keeps it: JSON without what is undefined, and without any
 * API key, which stands in the answer that made it and nowhere else.
 */
export function detailsOf(shown: object): NonNullable<AuditEntry['after']> {
  const text = JSON.stringify(shown, (name, value) => (name === 'key' ? undefined : value));
  return Details.parse(JSON.parse(text));
}

/** Where the month before ended when a month's first line was written. */
const PreviousMonth = z.object({ month: z.string(), lines: z.int(), hash: z.string() });

/** A line as it is stored and shown: the entry, its place and its time. */
export const AuditLine = z.object({
  account_id: z.string(),
  month: z.string(),
  /** Counts the lines of the account's month from 1. */
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
  /** Only in the first line of a month that is not the account's first. */
  previous: PreviousMonth.optional(),
});

/** The same as a type. */
export type AuditLine = z.infer<typeof AuditLine>;

/** A line as it stands in an exported trail: as it was hashed, with its hash as a last field. */
export function exportedText({ text, hash }: StoredAuditLine): string {
  return `${text.slice(0, -1)},"hash":"${hash}"}`;
}
