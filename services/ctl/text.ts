import { type CommandTerminal, CtlError, type Place, UsageError } from '#ctl/command';
import type { Clock } from '#platform/clock';

/** Columns stand this many spaces apart. */
const GAP = '  ';

/** What stands in a column of a row; undefined shows as `-`. */
export type Cell = string | number | undefined;

/** Rows under headings, every column as wide as its widest cell. Cells are escaped. */
export function table(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const shown = (cell: Cell) => (cell === undefined ? '-' : escapedLine(String(cell)));
  const lines = [headings, ...rows.map((row) => row.map(shown))];
  const widths = headings.map((_, column) => Math.max(...lines.map((row) => width(row[column]))));
  const padded = (cell: string, column: number) =>
    cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - width(cell)));
  return lines.map((row) => row.map(padded).join(GAP).trimEnd()).join('\n');
}

function width(cell: string | undefined): number {
  return [...(cell ?? '')].length;
}

/** A count with its noun, which is in the plural but for one. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** What an account has, as the last lines of commands say it. */
export function countedRows(rows: {
  readonly instances: number;
  readonly observations: number;
  readonly drift_events: number;
}): string {
  const { instances, observations, drift_events } = rows;
  const history = `${counted(observations, 'observation')}, ${counted(drift_events, 'drift event')}`;
  return `${counted(instances, 'instance')}, ${history}`;
}

/** Between two lines about work under way, in milliseconds. Chosen: a reader sees that it goes on. */
const REPORT_MS = 2_000;

/** Says how far long work has come, every two seconds; of short work it says nothing. */
export class Progress {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #report: (line: string) => void;
  #saidAtMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>, report: (line: string) => void) {
    this.#clock = clock;
    this.#report = report;
    this.#saidAtMs = clock.monotonicMs();
  }

  /** Takes what could be said now; `text` is asked for it only when it is time. */
  at(text: () => string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#saidAtMs < REPORT_MS) return;
    this.#saidAtMs = nowMs;
    this.#report(text());
  }
}

/** How much of something is done, in whole per cent. */
export function percentOf(done: number, total: number): number {
  return total === 0 ? 100 : Math.floor((100 * done) / total);
}

/** What is asked before something that loses data, and the one answer that lets it happen. */
type Confirmation = {
  /** What is said first; left out: that it cannot be undone. */
  readonly warning?: string;
  /** The id of the account, say. */
  readonly what: string;
  readonly expected: string;
  /** To delete it, say. */
  readonly purpose: string;
  /** What has not happened after another answer. */
  readonly otherwise: string;
};

/** Asks for it. Rejects with a `CtlError` for another answer, and where there is no terminal. */
export async function confirm(
  { warning = 'This cannot be undone.', what, expected, purpose, otherwise }: Confirmation,
  ask: CommandTerminal['ask'],
): Promise<void> {
  if (ask === undefined) {
    throw new CtlError('there is no terminal to ask at: --yes does it without a question');
  }
  const answer = await ask(`${warning} ${what} again, ${purpose}: `);
  if (answer.trim() !== expected) throw new CtlError(otherwise);
}

/** The names that a keyspace can have. */
const KEYSPACE = /^[a-z][a-z0-9_]{0,47}$/;

/** What is wrong with the text of a place; undefined: nothing. */
export function placeFaultOf(text: string): string | undefined {
  return found(text) === undefined ? 'must be sqlite:<file> or cassandra[:<keyspace>]' : undefined;
}

/** The place that a text names: `cassandra`, `cassandra:<keyspace>` or `sqlite:<file>`. */
export function placeOf(text = ''): Place {
  const place = found(text);
  if (place === undefined) throw new UsageError(`${text} ${placeFaultOf(text)}`);
  return place;
}

function found(text: string): Place | undefined {
  const [, kind = '', rest] = /^([a-z]+)(?::(.*))?$/s.exec(text) ?? [];
  if (kind === 'sqlite' && rest !== undefined && rest !== '') return { kind, file: rest };
  if (kind === 'cassandra' && (rest === undefined || KEYSPACE.test(rest))) {
    return { kind, keyspace: rest };
  }
  return undefined;
}

/*
 * Text that others chose, on the terminal of an operator: nothing in it may steer the terminal, break
 * a line or show its letters in another order.
 */

/**
 * Control characters (C0, C1), characters that show nothing or change the direction of text, line and
 * paragraph separators, private and unassigned characters, lone surrogates. Joiners stay: emoji and
 * several scripts need them.
 */
const STEERING = /[\p{C}\u2028\u2029]/gu;
const JOINERS = new Set(['\u200c', '\u200d']);

/** Of printed text, line breaks stay: they are those of the command, whose cells have none. */
export function escapedText(text: string): string {
  return escaped(text, (character) => character === '\n');
}

/** Text of a cell, or of anything else that is one line. */
export function escapedLine(text: string): string {
  return escaped(text, () => false);
}

/** JSON with the same characters as `\u…`, which any reader of JSON takes for the characters. */
export function escapedJson(data: unknown): string {
  return escapedText(JSON.stringify(data, undefined, 2) ?? '');
}

function escaped(text: string, stays: (character: string) => boolean): string {
  return text.replaceAll(STEERING, (character) =>
    stays(character) || JOINERS.has(character) ? character : codeUnitsOf(character),
  );
}

/** As JSON writes characters: `\u001b`, and two of them outside the basic plane. */
function codeUnitsOf(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
