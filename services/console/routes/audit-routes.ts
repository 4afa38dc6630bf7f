import { Readable } from 'node:stream';
import type { AuditTrail } from '#audit/audit-trail';
import { exportedText } from '#audit/exported-line';
import { saved } from '#console/answer';
import { lineOf } from '#console/caller-line';
import type { ConsoleAudit } from '#console/console-audit';
import type { LiveSessions } from '#console/live-sessions';
import { type ConsoleRoute, callerRoute, checkedQuery } from '#console/route';
import { AuditQuery, auditAnswer } from '#edge/schemas/audit';
import { AUDIT_LINES_MAX } from '#storage/audit-store';

type AuditParts = {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  readonly trail: Pick<AuditTrail, 'page' | 'heads' | 'linesAfter'>;
};

const NEEDS = { permission: 'audit.read' } as const;

/** The audit trail of the caller's account, as `GET /v1/audit` answers it, and whole as a file. */
export function auditRoutes({ live, audit, trail }: AuditParts): ConsoleRoute[] {
  const page = { method: 'GET', path: '/audit', ...NEEDS } as const;
  const whole = { method: 'GET', path: '/audit/export', isCostly: true, ...NEEDS } as const;
  return [
    callerRoute(live, page, async ({ caller, query }) => {
      const data = checkedQuery(AuditQuery, query);
      const { accountId } = caller.membership;
      const answer = await auditAnswer(data, (question) => trail.page(accountId, question));
      return { status: 200, ...answer };
    }),
    callerRoute(live, whole, async ({ caller, visit }) => {
      const { accountId } = caller.membership;
      return await audit.around(lineOf(caller, visit, 'audit.export'), async () =>
        saved(
          `audit-${accountId}.ndjson`,
          'application/x-ndjson',
          Readable.from(linesOf(trail, accountId)),
        ),
      );
    }),
  ];
}

/** The lines of all months, oldest first, in the form of `ctl audit export`. */
async function* linesOf(trail: AuditParts['trail'], accountId: string): AsyncGenerator<string> {
  for (const { month } of await trail.heads(accountId)) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const { lines, next } = await trail.linesAfter(accountId, month, after, AUDIT_LINES_MAX);
      yield lines.map((line) => `${exportedText(line)}\n`).join('');
      after = next;
    }
  }
}
