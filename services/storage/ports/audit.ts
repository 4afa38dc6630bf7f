/** Lines of one part of an account's month: a partition of about 6 MB. Fixed: it says where rows lie. */
export const AUDIT_PART_LINES = 16_384;

/** Lines that one append or read takes at most: some 60 kB. */
export const AUDIT_LINES_MAX = 128;

/** How far the chain of an account's month has come. */
export type AuditHead = {
  /** UTC month, `2026-11`. */
  readonly month: string;
  readonly lines: number;
  /** Of the last line, or what the chain begins with; base64url. */
  readonly hash: string;
};

/** A line as the store keeps it. */
export type StoredAuditLine = {
  /** Counts the lines of the account's month from 1. */
  readonly seq: number;
  readonly text: string;
  readonly hash: string;
};

/**
 * The audit trails of all accounts: one chain of lines for each account and month, only ever appended
 * to. Methods reject with `service_unavailable`.
 */
export interface AuditStore {
  /** The months of an account that have lines, oldest first; one more may have none, where an append failed. */
  months(accountId: string): Promise<readonly string[]>;
  /** How far a month has come, every append that was ever applied included; undefined: no line. */
  head(accountId: string, month: string): Promise<AuditHead | undefined>;
  /**
   * Adds 1 to `AUDIT_LINES_MAX` lines behind `after`, all or none of them, durably. False: the month
   * has come further, or not so far, and nothing was added. The lines must not cross a border of parts.
   * After a rejection with an unknown outcome `head` says whether it happened, for good.
   */
  append(accountId: string, after: AuditHead, lines: readonly StoredAuditLine[]): Promise<boolean>;
  /** Lines of a month with numbers from `newest` downwards, at most `count`, newest first. */
  read(accountId: string, month: string, newest: number, count: number): Promise<StoredAuditLine[]>;
  /** Removes a month for good. May be repeated. Nothing may be appended to it any more. */
  erase(accountId: string, month: string): Promise<void>;
}

/** How many more lines fit the part that the next line goes to. */
export function linesToBorder(lines: number): number {
  return AUDIT_PART_LINES - (lines % AUDIT_PART_LINES);
}
