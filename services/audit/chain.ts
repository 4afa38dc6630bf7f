import { hash } from 'node:crypto';
import { lineIn } from '#audit/entry';
import type { AuditHead, StoredAuditLine } from '#storage/ports/audit';

/** Where the chain of an account's month begins. */
export function chainStart(accountId: string, month: string): AuditHead {
  return { month, lines: 0, hash: hash('sha256', `audit\n${accountId}\n${month}`, 'base64url') };
}

/** The hash of a line: SHA-256 over that of the line before and the text, in base64url. */
function chainHash(before: string, text: string): string {
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

/** What is wrong with a chain, in words for an operator. */
export type AuditFinding = { readonly month: string; readonly seq: number; readonly text: string };

/**
 * Checks the chain of one account's month, its lines one after the other, oldest first: a line that was
 * changed, taken out, put in or moved is found, and so are lines missing at the end, against the head.
 */
export class ChainCheck {
  readonly findings: AuditFinding[] = [];
  readonly #accountId: string;
  #last: AuditHead;

  constructor(accountId: string, month: string) {
    this.#accountId = accountId;
    this.#last = chainStart(accountId, month);
  }

  /** The next line as it is stored. */
  take({ seq, text, hash }: StoredAuditLine): void {
    const { month, lines, hash: before } = this.#last;
    if (seq !== lines + 1)
      this.#found(lines + 1, seq > lines ? missing(lines + 1, seq) : 'out of order');
    // Behind a gap the chain is taken up again, so that one missing line is one finding.
    else if (chainHash(before, text) !== hash) this.#found(seq, 'not as it was written');
    else if (!isOf(text, this.#accountId, month, seq)) this.#found(seq, 'of another place');
    this.#last = { month, lines: seq, hash };
  }

  /** All lines were taken; `head` is what the store says of the month. */
  end(head: AuditHead | undefined): void {
    const { lines, hash } = this.#last;
    if (head === undefined) return;
    if (head.lines > lines) this.#found(lines + 1, missing(lines + 1, head.lines + 1));
    else if (head.lines === lines && head.hash !== hash)
      this.#found(lines, 'not what the head says');
  }

  /** The chain as far as it was taken. */
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
