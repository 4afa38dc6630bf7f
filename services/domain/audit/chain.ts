import { hash } from 'node:crypto';
import { lineIn } from '#audit/entry';
import type { AuditHead, StoredAuditLine } from '#storage/ports/audit';

/** Head of an empty hash chain, for one account and month. */
export function chainStart(accountId: string, month: string): AuditHead {
  return { month, lines: 0, hash: hash('sha256', `audit\n${accountId}\n${month}`, 'base64url') };
}

/** Line hash: SHA-256 over the previous hash and the text, in base64url. */
function chainHash(before: string, text: string): string {
  return hash('sha256', `${before}\n${text}`, 'base64url');
}

/** Builds the stored lines for `texts`, chained after `head`. */
export function chained(head: AuditHead, texts: readonly string[]): StoredAuditLine[] {
  let last = head.hash;
  return texts.map((text, index) => {
    last = chainHash(last, text);
    return { seq: head.lines + 1 + index, text, hash: last };
  });
}

/** Head after `lines`, which must directly follow `head`. */
export function headBehind(head: AuditHead, lines: readonly StoredAuditLine[]): AuditHead {
  const last = lines.at(-1);
  return last === undefined ? head : { month: head.month, lines: last.seq, hash: last.hash };
}

/** An integrity error in a hash chain; `text` is for an operator. */
export type AuditFinding = { readonly month: string; readonly seq: number; readonly text: string };

/**
 * Verifies one account's hash chain for a month. Pass all lines to `take` in order, oldest first.
 * Finds changed, removed, inserted and moved lines. Compares with the stored head, and so finds
 * lines missing at the end.
 */
export class ChainCheck {
  readonly findings: AuditFinding[] = [];
  readonly #accountId: string;
  #last: AuditHead;

  constructor(accountId: string, month: string) {
    this.#accountId = accountId;
    this.#last = chainStart(accountId, month);
  }

  /** Checks the next stored line. */
  take({ seq, text, hash }: StoredAuditLine): void {
    const { month, lines, hash: before } = this.#last;
    if (seq !== lines + 1)
      this.#found(lines + 1, seq > lines ? missing(lines + 1, seq) : 'out of order');
    // After a gap, continue from the present line. So each gap gives one finding.
    else if (chainHash(before, text) !== hash) this.#found(seq, 'changed since it was written');
    else if (!isOf(text, this.#accountId, month, seq)) this.#found(seq, 'not of this trail');
    this.#last = { month, lines: seq, hash };
  }

  /** Ends the check after the last line; `head` is the month's stored head. */
  end(head: AuditHead | undefined): void {
    const { lines, hash } = this.#last;
    if (head === undefined) return;
    if (head.lines > lines) this.#found(lines + 1, missing(lines + 1, head.lines + 1));
    else if (head.lines === lines && head.hash !== hash)
      this.#found(lines, 'hash differs from the head');
  }

  /** Chain head after all lines checked so far. */
  get head(): AuditHead {
    return this.#last;
  }

  #found(seq: number, text: string): void {
    this.findings.push({ month: this.#last.month, seq, text });
  }
}

function missing(from: number, next: number): string {
  return next === from + 1 ? 'missing' : `missing, up to ${next - 1}`;
}

function isOf(text: string, accountId: string, month: string, seq: number): boolean {
  const line = lineIn(text);
  return line?.account_id === accountId && line.month === month && line.seq === seq;
}
