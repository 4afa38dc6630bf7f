import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { type AuditFinding, ChainCheck } from '#audit/chain';
import { type AuditLine, exportedText, lineIn } from '#audit/entry';
import { type AccountCommand, type AdminClient, CtlError, EXIT } from '#ctl/command';
import { ACCOUNT } from '#ctl/command-line';
import { counted, table } from '#ctl/printed-text';
import { AuditLinesView, AuditMonthsView } from '#limiter/admin/schema';
import type { AuditHead, StoredAuditLine } from '#storage/ports/audit';

/** Commands for audit trails. */
export const AUDIT_COMMANDS: readonly AccountCommand[] = [
  {
    kind: 'account',
    words: ['audit', 'export'],
    summary: 'write an audit trail as JSON lines',
    description:
      'Writes the audit trail of an account to standard output, as JSON lines with hashes, oldest first.',
    args: [ACCOUNT],
    options: {},
    async run(admin, [account = ''], _values, { write, warn }) {
      const { months } = await monthsOf(admin, account);
      let lines = 0;
      for (const { month } of months) {
        for await (const page of pagesOf(admin, account, month)) {
          await write(page.map((line) => `${exportedText(line)}\n`).join(''));
          lines += page.length;
        }
      }
      warn(`${counted(lines, 'line')} of account ${account}`);
      return { data: { account, lines }, text: '' };
    },
  },
  {
    kind: 'account',
    words: ['audit', 'verify'],
    summary: 'check the hashes of an audit trail',
    description:
      'Recomputes the hash of every line of an audit trail, and reports changed, missing and reordered lines. `--file` checks a file of `ctl audit export` and needs no service.',
    args: [ACCOUNT],
    options: { file: { value: 'export', about: 'check this file, without a service' } },
    async run(admin, [account = ''], { file }) {
      const check = new TrailCheck(account);
      if (file === undefined) await checkStored(admin, account, check);
      else for await (const { month, line } of new AuditFile(file)) check.take(month, line);
      check.end();
      return printed(account, check);
    },
  },
];

async function checkStored(admin: AdminClient, account: string, check: TrailCheck): Promise<void> {
  const { months, kept_from: keptFrom } = await monthsOf(admin, account);
  check.expect(months, keptFrom);
  for (const { month } of months) {
    for await (const page of pagesOf(admin, account, month)) {
      for (const line of page) check.take(month, line);
    }
  }
}

async function monthsOf(admin: AdminClient, account: string) {
  return await admin.ask(AuditMonthsView, 'GET', `${pathOf(account)}/audit`);
}

/** Yields a month's lines page by page, oldest first. */
async function* pagesOf(
  admin: AdminClient,
  account: string,
  month: string,
): AsyncGenerator<readonly StoredAuditLine[]> {
  for (let after = 0; ; ) {
    const path = `${pathOf(account)}/audit/${month}?after=${after}`;
    const { lines, next } = await admin.ask(AuditLinesView, 'GET', path);
    if (lines.length > 0) yield lines;
    if (next === undefined) return;
    if (next <= after) {
      throw new CtlError(`the service sent a wrong page: line ${next} follows line ${after}`);
    }
    after = next;
  }
}

function pathOf(account: string): string {
  return `/accounts/${encodeURIComponent(account)}`;
}

function printed(account: string, { heads, findings, erased }: TrailCheck) {
  const data = { account, months: heads, findings, erased_months: erased };
  const rows = heads.map(({ month, lines, hash }: AuditHead) => [month, lines, hash]);
  const parts = [
    heads.length === 0 ? 'The trail has no lines.' : table(['MONTH', 'LINES', 'LAST HASH'], rows),
  ];
  if (erased.length > 0) parts.push(`Retention deleted ${erased.join(', ')} and earlier months.`);
  for (const { month, seq, text } of findings) parts.push(`${month} line ${seq}: ${text}`);
  if (findings.length === 0) parts.push(NO_FINDING);
  return { data, text: parts.join('\n'), exitCode: findings.length > 0 ? EXIT.differs : EXIT.done };
}

/**
 * Advice after a successful check. A user with write access to the tables can truncate a trail and
 * its head, so only a hash stored elsewhere proves the last line.
 */
const NO_FINDING =
  'No line was changed. Store the last hash of each month elsewhere to prove the last line later.';

const LINE = /^(\{.*),"hash":"([\w-]{43})"\}$/;
const PLACE = /^\{"account_id":"\w+","month":"(\d{4}-\d{2})","seq":(\d+),/;

/** Reads a file of `ctl audit export` line by line. Throws a `CtlError` for any other content. */
class AuditFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<{ month: string; line: StoredAuditLine }> {
    let number = 0;
    try {
      // A pipe is refused: its read could block and keep the process running.
      if (!(await stat(this.#path)).isFile()) throw new Error('this is not a regular file');
      const input = createReadStream(this.#path);
      using _input = { [Symbol.dispose]: () => void input.destroy() };
      for await (const text of createInterface({ input })) {
        number += 1;
        yield this.#read(text, number);
      }
    } catch (error) {
      if (error instanceof CtlError) throw error;
      throw new CtlError(
        `${this.#path}: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
  }

  #read(text: string, number: number): { month: string; line: StoredAuditLine } {
    const [, body, hash] = LINE.exec(text) ?? [];
    const [, month, seq] = PLACE.exec(text) ?? [];
    if (body === undefined || hash === undefined || month === undefined) {
      throw new CtlError(`${this.#path}: line ${number} is not a line of an exported audit trail`);
    }
    return { month, line: { seq: Number(seq), text: `${body}}`, hash } };
  }
}

/**
 * Checks the hash chain of an account's trail: the lines of each month, oldest month first, and the
 * links between months.
 */
class TrailCheck {
  readonly findings: AuditFinding[] = [];
  /** Head of each checked month. */
  readonly heads: AuditHead[] = [];
  /** Months that retention has removed, but that a link still names. */
  readonly erased: string[] = [];
  readonly #accountId: string;
  readonly #stored = new Map<string, AuditHead>();
  #keptFrom = '9999-12';
  #month: ChainCheck | undefined;

  constructor(accountId: string) {
    this.#accountId = accountId;
  }

  /**
   * Sets the stored heads, and the first month that must not be missing (undefined: all months).
   */
  expect(heads: readonly AuditHead[], keptFrom: string | undefined): void {
    for (const head of heads) this.#stored.set(head.month, head);
    this.#keptFrom = keptFrom ?? '';
  }

  /** Checks the next line. */
  take(month: string, line: StoredAuditLine): void {
    if (month !== this.#month?.head.month) {
      this.#endMonth();
      this.#month = new ChainCheck(this.#accountId, month);
      if (line.seq === 1) this.#follows(month, lineIn(line.text));
    }
    this.#month.take(line);
  }

  /** Ends the check and records missing months. */
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

  /**
   * Checks the link to the previous month. The first line of a month names the previous month,
   * which must exist unless its retention has ended.
   */
  #follows(month: string, line: AuditLine | undefined): void {
    const previous = line?.previous;
    const last = this.heads.at(-1);
    if (previous === undefined) {
      if (last !== undefined) this.#found(month, `does not follow ${last.month}`);
    } else if (last?.month === previous.month) {
      // Processes with slow clocks may have appended lines to the previous month after the link was
      // written.
      const isSame = last.lines > previous.lines || last.hash === previous.hash;
      if (!isSame || last.lines < previous.lines)
        this.#found(month, 'the previous month was changed');
    } else if (previous.month >= this.#keptFrom) {
      this.#found(month, `the previous month, ${previous.month}, is missing`);
    } else this.erased.push(previous.month);
  }

  #found(month: string, text: string): void {
    this.findings.push({ month, seq: 1, text });
  }
}
