import { hash } from 'node:crypto';
import type { AuditHead, StoredAuditLine } from '#storage/audit-store';

/** Where the chain of an account's month begins. */
export function chainStart(accountId: string, month: string): AuditHead {
  return { month, lines: 0, hash: hash('sha256', `audit\n${accountId}\n${month}`, 'base64url') };
}

/** The hash of a line: SHA-256 over that of the line before and the text, in base64url. */
export function chainHash(before: string, text: string): string {
  return hash('sha256', `${before}\n${text}`, 'base64url');
}

/** The lines that `texts` become behind `head`. */
export function chained(head: AuditHead, texts: readonly string[]): StoredAuditLine[] {
  let last = head.hash;
  return texts.map((text, index) => {
    last = chainHash(last, text);
    return { seq: head.lines + 1 + index, text, hash: last };
  });
}

/** The head behind `lines`, which follow `head`. */
export function headBehind(head: AuditHead, lines: readonly StoredAuditLine[]): AuditHead {
  const last = lines.at(-1);
  return last === undefined ? head : { month: head.month, lines: last.seq, hash: last.hash };
}
