/**
 * Maximum number of lines in a part of an account's month: a partition of about 6 MB. Must never
 * change, because the part number is in the storage key.
 */
export const AUDIT_PART_LINES = 16_384;

/** Maximum number of lines in an append or a read: about 60 kB. */
export const AUDIT_LINES_MAX = 128;

/** Head of the hash chain for an account's month. */
export type AuditHead = {
  /** UTC month, `2026-11`. */
  readonly month: string;
  readonly lines: number;
  /** Hash of the last line, or the initial hash of the chain, as base64url. */
  readonly hash: string;
};

/** A line as the store keeps it. */
export type StoredAuditLine = {
  /** Number of the line in the account's month, from 1. */
  readonly seq: number;
  readonly text: string;
  readonly hash: string;
};

/**
 * Audit trails of all accounts: one append-only chain of lines per account and month. Methods
 * reject with `service_unavailable`.
 */
export interface AuditStore {
  /** Months of an account, oldest first. After a failed append, a month may have no lines. */
  months(accountId: string): Promise<readonly string[]>;
  /** Head of a month, including every applied append; undefined if the month has no line. */
  head(accountId: string, month: string): Promise<AuditHead | undefined>;
  /**
   * Appends 1 to `AUDIT_LINES_MAX` lines after the head `after`, durably, all or nothing. Fulfils
   * with false if the month has another head; nothing was appended then. The lines must all belong
   * to one part (`linesToBorder`). After a rejection with an unknown outcome, `head` shows
   * definitively whether the append happened.
   */
  append(accountId: string, after: AuditHead, lines: readonly StoredAuditLine[]): Promise<boolean>;
  /** Lines of a month with numbers from `newest` down, at most `count`, newest first. */
  read(accountId: string, month: string, newest: number, count: number): Promise<StoredAuditLine[]>;
  /** Deletes a month permanently. May be repeated. No append may follow. */
  erase(accountId: string, month: string): Promise<void>;
}

/** Number of further lines that fit into the current part. */
export function linesToBorder(lines: number): number {
  return AUDIT_PART_LINES - (lines % AUDIT_PART_LINES);
}
