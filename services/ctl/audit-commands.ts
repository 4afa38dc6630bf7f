import { exportedText } from '#audit/exported-line';
import { AuditFile } from '#ctl/audit-file';
import { type AccountCommand, type AdminClient, CtlError, EXIT } from '#ctl/command';
import { ACCOUNT } from '#ctl/command-values';
import { counted } from '#ctl/counted';
import { table } from '#ctl/table';
import { TrailCheck } from '#ctl/trail-check';
import { AuditLinesView, AuditMonthsView } from '#limiter/admin-schema';
import type { AuditHead, StoredAuditLine } from '#storage/audit-store';

/** What `ctl` does with audit trails. */
export const AUDIT_COMMANDS: readonly AccountCommand[] = [
  {
    kind: 'account',
    words: ['audit', 'export'],
    summary: 'write an audit trail as lines of JSON',
    description:
      'Writes the audit trail of an account to standard output, a line of JSON for each of its lines, oldest first, each with its hash.',
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
      'Recomputes the hash of every line of an audit trail and finds lines that were changed, are missing, or stand in another order; `--file` looks at what `ctl audit export` wrote, without a service.',
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

/** The lines of a month, oldest first. */
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
    if (next <= after) throw new CtlError(`the service goes on at line ${next}, behind ${after}`);
    after = next;
  }
}

function pathOf(account: string): string {
  return `/accounts/${encodeURIComponent(account)}`;
}

function printed(account: string, { heads, findings, erased }: TrailCheck) {
  const data = { account, months: heads, findings, erased_months: erased };
  const rows = heads.map(({ month, lines, hash }: AuditHead) => [month, lines, hash]);
  const parts = [heads.length === 0 ? 'No lines.' : table(['MONTH', 'LINES', 'LAST HASH'], rows)];
  if (erased.length > 0) parts.push(`Gone by retention: ${erased.join(', ')} and what was before.`);
  for (const { month, seq, text } of findings) parts.push(`${month} line ${seq}: ${text}`);
  if (findings.length === 0) parts.push(NO_FINDING);
  return { data, text: parts.join('\n'), exitCode: findings.length > 0 ? EXIT.differs : EXIT.done };
}

/** Who can write the tables can also cut the end of a trail, head and all. */
const NO_FINDING =
  'Every line is as it was written. Keep the last hash of each month elsewhere: it proves the end.';
