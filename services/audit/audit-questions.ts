import { z } from 'zod';
import { AuditEntry, AuditLine } from '#audit/audit-entry';
import { AUDIT_CURSOR } from '#audit/audit-page';
import { PAGE_ENTRIES_MAX } from '#audit/bounds';

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
