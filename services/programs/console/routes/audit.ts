import { Readable } from 'node:stream';
import { z } from 'zod';
import { ACTION_CURSOR, type AuditedAction, actionPage, placeOf } from '#audit/actions';
import { exportedText } from '#audit/entry';
import type { AuditTrail } from '#audit/trail';
import { AUDIT_RESULTS, type AuditResult, type AuditRow } from '#console/answers';
import type { ConsolePorts } from '#console/app/ports';
import { type ConsoleRoute, callerRoute, checkedQuery, lineOf } from '#console/app/route';
import { saved } from '#console/app/visit';
import type { ConsoleAudit } from '#console/people/audit';
import { AuditNames } from '#console/people/audit-names';
import type { LiveSessions } from '#console/people/live-sessions';
import { ENDPOINTS } from '#edge/endpoints/all';
import { AuditQuery } from '#edge/schemas/account';
import { AUDITED_MS_MAX } from '#edge/serve/account';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import { defined } from '#stdlib/defined';
import { AUDIT_LINES_MAX } from '#storage/ports/audit';

type AuditParts = Pick<ConsolePorts, 'users' | 'accounts' | 'clock'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  readonly trail: Pick<AuditTrail, 'page' | 'heads' | 'linesAfter'>;
};

const NEEDS = { permission: 'audit.read' } as const;

/** Maximum length of a search text: longer than every name. */
const SEARCH_LENGTH_MAX = 256;

/** Query of `GET /api/audit`. `action`, `from` and `until` are as in `GET /v1/audit`. */
const ActionQuery = AuditQuery.pick({ limit: true, action: true, from: true, until: true }).extend({
  cursor: z.string().regex(ACTION_CURSOR, 'must be a next_cursor of a previous page').optional(),
  search: z.string().min(1).max(SEARCH_LENGTH_MAX).optional(),
  result: z.enum(AUDIT_RESULTS).optional(),
});

/**
 * Routes for the account's audit trail: pages of actions with names, and all lines as a file. Each
 * action joins its two lines.
 */
export function auditRoutes(parts: AuditParts): ConsoleRoute[] {
  const { live, audit, trail } = parts;
  const page = { method: 'GET', path: '/audit', ...NEEDS } as const;
  const whole = { method: 'GET', path: '/audit/export', isCostly: true, ...NEEDS } as const;
  return [
    callerRoute(live, page, async ({ caller, query }) => {
      const data = checkedQuery(ActionQuery, query);
      return { status: 200, ...(await rowsOf(parts, caller.membership.accountId, data)) };
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

async function rowsOf(
  { trail, clock, ...ports }: AuditParts,
  accountId: string,
  { limit, cursor, search, action, result, from, until }: z.output<typeof ActionQuery>,
) {
  const names = new AuditNames(ports, accountId);
  const nowMs = clock.wallMs();
  const text = search?.trim().toLowerCase() ?? '';
  const isWanted = async (one: AuditedAction): Promise<boolean> => {
    const { begun } = one;
    if (action !== undefined && !`${begun.action}.`.startsWith(`${action}.`)) return false;
    if (result !== undefined && resultOf(one, nowMs) !== result) return false;
    return text === '' || (await names.areMatching(text, linesIn(one)));
  };
  const read = (question: Parameters<typeof trail.page>[1]) => trail.page(accountId, question);
  const asked = { cursor, limit, fromMs: from, untilMs: until };
  const { actions, next, reachedAt } = await actionPage(read, isWanted, asked);
  const data: AuditRow[] = [];
  for (const one of actions) data.push(await rowOf(one, names, nowMs));
  const pagination = { limit, next_cursor: next ?? null, reached_at: reachedAt ?? null };
  return { data, pagination };
}

async function rowOf(one: AuditedAction, names: AuditNames, nowMs: number): Promise<AuditRow> {
  const { begun, ended } = one;
  const { at, action, actor, address, request_id, before } = begun;
  const result = resultOf(one, nowMs);
  const isError = result === 'refused' || result === 'failed';
  return defined<AuditRow>({
    ...{ id: placeOf(begun), at, action, address, request_id, before, result },
    actor: defined<AuditRow['actor']>({
      ...{ name: undefined, more: undefined, ...(await names.actorOf(begun)) },
      ...{ kind: actor.kind, id: actor.id, session: actor.session },
    }),
    target: await names.targetOf(linesIn(one)),
    code: isError ? (ended ?? begun).outcome : undefined,
    duration_ms: ended && Math.max(0, Date.parse(ended.at) - Date.parse(at)),
    after: ended?.after ?? begun.after,
    lines: linesIn(one).map(placeOf),
  });
}

function linesIn({ begun, ended }: AuditedAction) {
  return ended === undefined ? [begun] : [begun, ended];
}

/** Time after which the outcome of another action without a second line is unknown. */
const ACTION_MS_MAX = 10 * 60_000;

/** Actions of the API. The edge writes a second line only for a refused or repeated write. */
const WRITES: ReadonlySet<string | undefined> = new Set(
  ENDPOINTS.map(({ auditedAs }) => auditedAs).filter((action) => action !== undefined),
);

/** Actors that write to instances and webhooks by the API. Operators use `ctl` with two lines. */
const API_ACTORS: ReadonlySet<string> = new Set(['key', 'user']);

/**
 * Result of an action. A write to an instance or webhook without a second line counts as done after
 * `AUDITED_MS_MAX`. If the edge crashed between line and write, or could not write the second line, this result
 * is wrong.
 */
function resultOf({ begun, ended }: AuditedAction, nowMs: number): AuditResult {
  const { outcome } = ended ?? begun;
  if (outcome === 'done' || outcome === 'repeated') return outcome;
  if (outcome !== 'begun') {
    return (FAULTS[outcome as FaultCode]?.http ?? 400) >= 500 ? 'failed' : 'refused';
  }
  const ageMs = nowMs - Date.parse(begun.at);
  const isWrite = WRITES.has(begun.action) && API_ACTORS.has(begun.actor.kind);
  if (isWrite) return ageMs < AUDITED_MS_MAX ? 'running' : 'done';
  return ageMs < ACTION_MS_MAX ? 'running' : 'unknown';
}

/** Yields the lines of all months, oldest first, in the format of `ctl audit export`. */
async function* linesOf(trail: AuditParts['trail'], accountId: string): AsyncGenerator<string> {
  for (const { month } of await trail.heads(accountId)) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const { lines, next } = await trail.linesAfter(accountId, month, after, AUDIT_LINES_MAX);
      yield lines.map((line) => `${exportedText(line)}\n`).join('');
      after = next;
    }
  }
}
