import { type AuditLine, lineIn } from '#audit/audit-entry';
import { type AuditFinding, ChainCheck } from '#audit/verification';
import type { AuditHead, StoredAuditLine } from '#storage/audit-store';

/** Checks an account's trail, month after month, oldest first, and how each month follows the last. */
export class TrailCheck {
  readonly findings: AuditFinding[] = [];
  /** Where each month ends. */
  readonly heads: AuditHead[] = [];
  /** Months that are named and not there, as they may be: their time is over. */
  readonly erased: string[] = [];
  readonly #accountId: string;
  readonly #stored = new Map<string, AuditHead>();
  #keptFrom = '9999-12';
  #month: ChainCheck | undefined;

  constructor(accountId: string) {
    this.#accountId = accountId;
  }

  /** What the store says of its months, and from which on none may be missing; undefined: from the first. */
  expect(heads: readonly AuditHead[], keptFrom: string | undefined): void {
    for (const head of heads) this.#stored.set(head.month, head);
    this.#keptFrom = keptFrom ?? '';
  }

  /** The next line. */
  take(month: string, line: StoredAuditLine): void {
    if (month !== this.#month?.head.month) {
      this.#endMonth();
      this.#month = new ChainCheck(this.#accountId, month);
      if (line.seq === 1) this.#follows(month, lineIn(line.text));
    }
    this.#month.take(line);
  }

  /** All lines were taken. */
  end(): void {
    this.#endMonth();
    for (const { month, lines } of this.#stored.values()) {
      const isTaken = this.heads.some((head) => head.month === month);
      if (!isTaken) this.findings.push({ month, seq: 1, text: `missing, up to ${lines}` });
    }
  }

  #endMonth(): void {
    if (this.#month === undefined) return;
    this.#month.end(this.#stored.get(this.#month.head.month));
    this.findings.push(...this.#month.findings);
    this.heads.push(this.#month.head);
  }

  /** The first line of a month names the month before: it must be there unless its time is over. */
  #follows(month: string, line: AuditLine | undefined): void {
    const previous = line?.previous;
    const last = this.heads.at(-1);
    if (previous === undefined) {
      if (last !== undefined) this.#found(month, `does not follow ${last.month}`);
    } else if (last?.month === previous.month) {
      // Behind the end that it names others may have appended, by clocks that are a little late.
      const isSame = last.lines > previous.lines || last.hash === previous.hash;
      if (!isSame || last.lines < previous.lines)
        this.#found(month, 'the month before was changed');
    } else if (previous.month >= this.#keptFrom) {
      this.#found(month, `the month before, ${previous.month}, is missing`);
    } else this.erased.push(previous.month);
  }

  #found(month: string, text: string): void {
    this.findings.push({ month, seq: 1, text });
  }
}
