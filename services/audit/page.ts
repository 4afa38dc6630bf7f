import { z } from 'zod';
import { monthNameOf } from '#accounts/windows';
import { PAGE_ENTRIES_MAX, PAGE_LINES_MAX } from '#audit/bounds';
import { AuditEntry, AuditLine, lineIn } from '#audit/entry';
import { AUDIT_LINES_MAX, type AuditStore } from '#storage/ports/audit';

/** Which lines are wanted; a filter that is absent lets all through. */
export type AuditFilter = {
  /** The action or its first words: `key` is every action on keys. */
  readonly action?: string | undefined;
  /** Id of the actor. */
  readonly actor?: string | undefined;
  /** Id of what it was done to. */
  readonly target?: string | undefined;
  readonly outcome?: string | undefined;
  /** Unix milliseconds; the first is in it, the second is not. */
  readonly fromMs?: number | undefined;
  readonly untilMs?: number | undefined;
};

/** Some lines, newest first. */
export type AuditPage = {
  readonly lines: readonly AuditLine[];
  /** Where the next page begins, also of one that found nothing yet; undefined: there is no more. */
  readonly next: string | undefined;
};

/** A place in a trail, before which a page goes on. */
export const AUDIT_CURSOR = /^(\d{4}-\d{2})\.(\d{1,15})$/;

/**
 * The newest lines of an account that a filter lets through, before the place `before` if there is one.
 * Looks at a bounded number of lines. Rejects as the store does.
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
    // One that cannot be read was not written so: `ctl audit verify` names it.
    if (line !== undefined && isWanted(line, filter)) found.push(line);
    looked += 1;
    if (found.length < limit && looked < PAGE_LINES_MAX) continue;
    return { lines: found, next: place };
  }
  return { lines: found, next: undefined };
}

/** The lines of all months that can hold some that are wanted, newest first. */
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
    // A cursor is a caller's own text: it may be far behind the end.
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

/** Whether a line of the month can be in the time that is wanted. */
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

/* What a process without the store asks one that has it, as JSON between them: both ends read it. */

/** Body of `audit.append`; the answer is the place of the line. An edge of before sends no bound. */
export const AppendQuestion = z.object({
  entry: AuditEntry,
  linesMax: z.int().min(0).optional(),
});

/** The answer to it. */
export const AppendAnswer = z.object({ place: z.string().regex(AUDIT_CURSOR) });

/** Body of `audit.page`: a filter, and where the page begins. */
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

/** The same as a type. */
export type PageQuestion = z.infer<typeof PageQuestion>;

/** The answer to it. */
export const PageAnswer = z.object({
  lines: z.array(AuditLine),
  next: z.string().regex(AUDIT_CURSOR).optional(),
});
