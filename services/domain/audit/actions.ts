import { monthNameOf } from '#accounts/quota-windows';
import type { AuditLine } from '#audit/entry';
import { AUDIT_CURSOR, type AuditPage, type PageQuestion } from '#audit/page';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';

/**
 * An audited action: its first line, and the line that completes the first line. If the month of
 * the first line was erased, `begun` is the completing line.
 */
export type AuditedAction = { readonly begun: AuditLine; readonly ended: AuditLine | undefined };

/** A page of actions, newest first. */
type ActionPage = {
  readonly actions: readonly AuditedAction[];
  /** Cursor of the next page; undefined at the end. */
  readonly next: string | undefined;
  /** Time of the oldest line that was read; undefined if no line was read. */
  readonly reachedAt: string | undefined;
};

/** Question for a page of actions. Times are Unix milliseconds of the first lines. */
type ActionQuestion = {
  readonly cursor: string | undefined;
  readonly limit: number;
  readonly fromMs: number | undefined;
  readonly untilMs: number | undefined;
};

/**
 * Cursor: the last line that was read, and the completing lines whose first lines are older. With
 * these lines, an action stays whole if its two lines are on different pages.
 */
export const ACTION_CURSOR = /^\d{4}-\d{2}\.\d{1,15}(?:~\d{4}-\d{2}\.\d{1,15}){0,64}$/;

/** Maximum completing lines in a cursor: more actions than one account usually has in progress. */
const OPEN_MAX = 64;

/** Lines of a cursor that are read at the same time. */
const OPEN_AT_ONCE = 8;

/** Lines per read. A page of 50 actions has about 100 lines. */
const READ_LINES = 128;

/** Lines per read after the first read: a search reads many lines. */
const SEARCH_LINES = 1_024;

/** Maximum reads for a page. With the bound per read, a page reads at most about 8,000 lines. */
const READS_MAX = 9;

/** Lines that a full page reads further to complete its open actions. */
const FURTHER_LINES_MAX = 32;

/** Time within which the completing line of an action follows. A read exceeds its period by this time. */
const ACTION_MS_MAX = 60 * 60_000;

/** Number beyond every line of a month. */
const BEYOND = 999_999_999_999_999;

/**
 * Reads the newest actions that `isWanted` accepts, at most about `limit`. `read` reads lines of the
 * trail, newest first. A page without actions can have a cursor, because a page reads a bounded
 * number of lines. Rejects like `read`.
 */
export async function actionPage(
  read: ReadLines,
  isWanted: (action: AuditedAction) => boolean | Promise<boolean>,
  { cursor, limit, fromMs, untilMs }: ActionQuestion,
): Promise<ActionPage> {
  const isIn = ({ begun }: AuditedAction): boolean => {
    const atMs = Date.parse(begun.at);
    return (fromMs ?? atMs) <= atMs && atMs < (untilMs ?? Number.POSITIVE_INFINITY);
  };
  const pairs = new LinePairs(
    await openLines(read, cursor),
    async (action) => isIn(action) && (await isWanted(action)),
    limit,
  );
  let place = cursor?.split('~')[0] ?? newestPlace(untilMs);
  const beganMs = fromMs === undefined ? undefined : fromMs - ACTION_MS_MAX;
  for (let reads = 0; reads < READS_MAX && !pairs.isFull; reads += 1) {
    const lines = reads === 0 ? READ_LINES : SEARCH_LINES;
    const page = await read({ fromMs: beganMs, before: place, limit: lines });
    const last = await pairs.takeUntilFull(page.lines);
    if (last === undefined && page.next === undefined) {
      await pairs.end();
      return { ...pairs.page, next: undefined };
    }
    place = last ?? page.next;
  }
  return { ...pairs.page, next: [place, ...pairs.openPlaces].join('~') };
}

type ReadLines = (question: PageQuestion) => Promise<AuditPage>;

/** Joins lines to actions. Lines arrive newest first, so a completing line precedes its first line. */
class LinePairs {
  readonly #actions: AuditedAction[] = [];
  /** Completing lines, by the place of the first line. */
  readonly #open: Map<string, AuditLine>;
  readonly #isWanted: (action: AuditedAction) => Promise<boolean>;
  readonly #limit: number;
  /** Lines read after the page had enough actions. */
  #further = 0;
  #reachedAt: string | undefined;

  constructor(
    open: Map<string, AuditLine>,
    isWanted: (action: AuditedAction) => Promise<boolean>,
    limit: number,
  ) {
    this.#open = open;
    this.#isWanted = isWanted;
    this.#limit = limit;
  }

  /** Whether the page has enough actions, and no action in it lacks a line that follows soon. */
  get isFull(): boolean {
    if (this.#actions.length < this.#limit) return false;
    return this.#open.size === 0 || this.#further >= FURTHER_LINES_MAX;
  }

  get page(): Omit<ActionPage, 'next'> {
    return { actions: this.#actions, reachedAt: this.#reachedAt };
  }

  /** Places of completing lines whose first lines were not read yet. */
  get openPlaces(): string[] {
    return [...this.#open.values()].slice(-OPEN_MAX).map(placeOf);
  }

  /** Takes lines until the page is full. Returns the last place; undefined if all lines fit. */
  async takeUntilFull(lines: readonly AuditLine[]): Promise<string | undefined> {
    let last: string | undefined;
    for (const line of lines) {
      if (this.isFull) return last;
      if (this.#actions.length >= this.#limit) this.#further += 1;
      last = placeOf(line);
      this.#reachedAt = line.at;
      if (line.of !== undefined) this.#open.set(line.of, line);
      else await this.#add({ begun: line, ended: this.#open.get(last) });
      this.#open.delete(last);
    }
    return undefined;
  }

  /** Takes completing lines whose first lines were erased. */
  async end(): Promise<void> {
    for (const line of this.#open.values()) await this.#add({ begun: line, ended: undefined });
  }

  async #add(action: AuditedAction): Promise<void> {
    if (await this.#isWanted(action)) this.#actions.push(action);
  }
}

/** Place of a line: month and number, as in `of`. */
export function placeOf({ month, seq }: Pick<AuditLine, 'month' | 'seq'>): string {
  return `${month}.${seq}`;
}

/** A place beyond the last line before `untilMs`; undefined without an end. */
function newestPlace(untilMs: number | undefined): string | undefined {
  if (untilMs === undefined) return undefined;
  return `${monthNameOf(untilMs + ACTION_MS_MAX)}.${BEYOND}`;
}

/** Completing lines that a cursor names, by the place of the first line. */
async function openLines(read: ReadLines, cursor = ''): Promise<Map<string, AuditLine>> {
  const open = new Map<string, AuditLine>();
  await forEachConcurrently(cursor.split('~').slice(1), OPEN_AT_ONCE, async (place) => {
    const [, month, number] = AUDIT_CURSOR.exec(place) ?? [];
    const { lines } = await read({ before: `${month}.${Number(number) + 1}`, limit: 1 });
    const [line] = lines;
    // Callers can invent a cursor.
    if (line?.of !== undefined && placeOf(line) === place) open.set(line.of, line);
  });
  return open;
}
