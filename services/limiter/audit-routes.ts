import type { z } from 'zod';
import { accountAt } from '#accounts/plan-change';
import { auditKeptFrom } from '#accounts/retention';
import type { AuditTrail } from '#audit/audit-trail';
import { Fault, invalid } from '#fault/fault';
import type { AccountAdmin } from '#limiter/account-admin';
import { AuditLinesQuery, type AuditLinesView, type AuditMonthsView } from '#limiter/admin-schema';
import { AUDIT_LINES_MAX } from '#storage/audit-store';

const MONTHS = /^\/accounts\/(?<account>\w+)\/audit$/;
const LINES = /^\/accounts\/(?<account>\w+)\/audit\/(?<month>\d{4}-\d{2})$/;

/**
 * Answers a request for the stored lines of an audit trail, which `ctl` verifies by itself; undefined:
 * it is another request. Rejects with `not_found` for an account that does not exist.
 */
export async function answerAudit(
  { admin, trail }: { readonly admin: AccountAdmin; readonly trail: AuditTrail },
  { method, url }: { readonly method: string; readonly url: URL },
  nowMs: number,
): Promise<z.infer<typeof AuditMonthsView> | z.infer<typeof AuditLinesView> | undefined> {
  const months = method === 'GET' ? MONTHS.exec(url.pathname)?.groups : undefined;
  if (months !== undefined) {
    const account = (await admin.find(months['account'] ?? ''))?.account;
    if (account === undefined) throw new Fault('not_found', 'there is no such account');
    const kept_from = auditKeptFrom(accountAt(account, nowMs).plan, nowMs);
    return { months: await trail.heads(account.id), ...(kept_from && { kept_from }) };
  }
  const { account = '', month = '' } = (method === 'GET' && LINES.exec(url.pathname)?.groups) || {};
  if (account === '') return undefined;
  const { data } = AuditLinesQuery.safeParse(Object.fromEntries(url.searchParams));
  if (data === undefined) throw invalid('invalid_parameter', 'after', 'a number of a line');
  return await trail.linesAfter(account, month, data.after, AUDIT_LINES_MAX);
}
