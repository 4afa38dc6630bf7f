import { z } from 'zod';
import { monthNameOf } from '#accounts/quota-windows';
import { AuditEntry, AuditLine, lineIn } from '#audit/entry';
import { PAGE_ENTRIES_MAX, PAGE_LINES_MAX } from '#audit/trail-bounds';
import { AUDIT_LINES_MAX, type AuditStore } from '#storage/ports/audit';

/** Filter for lines. An absent field matches every line. */
export type AuditFilter = {
  /** The action or its first words: `key` matches all actions on keys. */
  readonly action?: string | undefined;
  /** Actor id. */
  readonly actor?: string | undefined;
  /** Target object id. */
  readonly target?: string | undefined;
  readonly outcome?: string | undefined;
  /** Unix milliseconds; `fromMs` is inclusive, `untilMs` exclusive. */
  readonly fromMs?: number | undefined;
  readonly untilMs?: number | undefined;
};

/** A page with the newest lines first. */
export type AuditPage = {
  readonly lines: readonly AuditLine[];
  /** Next page's cursor, also set after a page without matches; undefined at the end. */
  readonly next: string | undefined;
};

/** Cursor: month and line number. The next page starts before this line. */
export const AUDIT_CURSOR = /^(\d{4}-\d{2})\.(\d{1,15})$/;

/**
 * Reads the newest lines that match the filter and precede the cursor `before`, if given. Scans at
 * most `PAGE_LINES_MAX` lines. Rejects like the store.
 */
export async function auditPage(
  store: AuditStore,
  accountId: string,
  filter: AuditFilter,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<AuditPage> {
  const found: AuditLine[] = [];
  let looked = 0;
  for await (const { text, place } of linesBefore(store, accountId, filter, before)) {
    const line = lineIn(text);
    // Skip unreadable lines: `ctl audit verify` reports them.
    if (line !== undefined && isWanted(line, filter)) found.push(line);
    looked += 1;
    if (found.length < limit && looked < PAGE_LINES_MAX) continue;
    return { lines: found, next: place };
  }
  return { lines: found, next: undefined };
}

/** Lines of all months that may contain a match, newest first, before the cursor `before`. */
async function* linesBefore(
  store: AuditStore,
  accountId: string,
  filter: AuditFilter,
  before: string | undefined,
): AsyncGenerator<{ readonly text: string; readonly place: string }> {
  const [, last = '9999-12', number] = AUDIT_CURSOR.exec(before ?? '') ?? [];
  for (const month of (await store.months(accountId)).toReversed()) {
    if (month > last || !mayHold(month, filter)) continue;
    const isCut = month === last && number !== undefined;
    const end = await linesOf(store, accountId, month);
    // Callers can invent a cursor, so its number may exceed the last line.
    let newest = isCut ? Math.min(Number(number) - 1, end) : end;
    while (newest > 0) {
      const lines = await store.read(accountId, month, newest, AUDIT_LINES_MAX);
      yield* lines.map(({ text, seq }) => ({ text, place: `${month}.${seq}` }));
      newest = (lines.at(-1)?.seq ?? 1) - 1;
    }
  }
}

async function linesOf(store: AuditStore, accountId: string, month: string): Promise<number> {
  return (await store.head(accountId, month))?.lines ?? 0;
}

/** Whether a month may contain lines in the requested period. */
function mayHold(month: string, { fromMs, untilMs }: AuditFilter): boolean {
  const from = fromMs === undefined ? '' : monthNameOf(fromMs);
  const until = untilMs === undefined ? '9999-12' : monthNameOf(untilMs);
  return month >= from && month <= until;
}

function isWanted(line: AuditLine, filter: AuditFilter): boolean {
  const { action, actor, target, outcome, fromMs, untilMs } = filter;
  const atMs = Date.parse(line.at);
  return (
    (action === undefined || line.action === action || line.action.startsWith(`${action}.`)) &&
    (actor === undefined || line.actor.id === actor) &&
    (target === undefined || line.target === target) &&
    (outcome === undefined || line.outcome === outcome) &&
    (fromMs === undefined || atMs >= fromMs) &&
    (untilMs === undefined || atMs < untilMs)
  );
}

/*
 * JSON calls from a process without the store to a process with the store. Both ends use these
 * schemas.
 */

/** Body for `audit.append`. Older edges send no `linesMax`. The answer is the line's cursor. */
export const AppendQuestion = z.object({
  entry: AuditEntry,
  linesMax: z.int().min(0).optional(),
});

/** Answer to `audit.append`. */
export const AppendAnswer = z.object({ place: z.string().regex(AUDIT_CURSOR) });

/** Body for `audit.page`: a filter and a cursor. */
export const PageQuestion = z.object({
  action: z.string().optional(),
  actor: z.string().optional(),
  target: z.string().optional(),
  outcome: z.string().optional(),
  fromMs: z.number().optional(),
  untilMs: z.number().optional(),
  before: z.string().regex(AUDIT_CURSOR).optional(),
  limit: z.int().min(1).max(PAGE_ENTRIES_MAX),
});

/** A request for a page of lines. */
export type PageQuestion = z.infer<typeof PageQuestion>;

/** Answer to `audit.page`. */
export const PageAnswer = z.object({
  lines: z.array(AuditLine),
  next: z.string().regex(AUDIT_CURSOR).optional(),
});
