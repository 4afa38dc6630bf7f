import { type CommandTerminal, CtlError, type Place, UsageError } from '#ctl/command';
import type { Clock } from '#stdlib/clock';

/** Gap between columns. */
const GAP = '  ';

/** Cell of a table row. Undefined shows as `-`. */
export type Cell = string | number | undefined;

/** Formats rows under headings. Every column is as wide as its widest cell. Cells are escaped. */
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

/** Count with its noun, in the plural unless the count is 1. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Row counts for the last line of a command. */
export function countedRows(rows: {
  readonly instances: number;
  readonly observations: number;
  readonly drift_events: number;
}): string {
  const { instances, observations, drift_events } = rows;
  const history = `${counted(observations, 'observation')}, ${counted(drift_events, 'drift event')}`;
  return `${counted(instances, 'instance')}, ${history}`;
}

/** Minimum interval between progress lines, in milliseconds. */
const REPORT_MS = 2_000;

/** Prints a progress line every two seconds. Shorter work prints nothing. */
export class Progress {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #report: (line: string) => void;
  #saidAtMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>, report: (line: string) => void) {
    this.#clock = clock;
    this.#report = report;
    this.#saidAtMs = clock.monotonicMs();
  }

  /** Reports `text()` if the interval has passed. Otherwise `text` is not called. */
  at(text: () => string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#saidAtMs < REPORT_MS) return;
    this.#saidAtMs = nowMs;
    this.#report(text());
  }
}

/** Completed share in whole per cent, rounded down. 100 if `total` is 0. */
export function percentOf(done: number, total: number): number {
  return total === 0 ? 100 : Math.floor((100 * done) / total);
}

/** Question before an operation that loses data, with the confirming answer. */
type Confirmation = {
  /** First sentence. Default: the operation cannot be undone. */
  readonly warning?: string;
  /** What to type, for example `the account id`. */
  readonly what: string;
  readonly expected: string;
  /** Purpose, for example `to delete the account`. */
  readonly purpose: string;
  /** Error message after another answer. */
  readonly otherwise: string;
};

/**
 * Asks for confirmation. Rejects with a `CtlError` for another answer, or if there is no terminal.
 */
export async function confirm(
  { warning = 'This cannot be undone.', what, expected, purpose, otherwise }: Confirmation,
  ask: CommandTerminal['ask'],
): Promise<void> {
  if (ask === undefined) {
    throw new CtlError('no terminal for the confirmation: add --yes to confirm');
  }
  const answer = await ask(`${warning} Type ${what} ${purpose}: `);
  if (answer.trim() !== expected) throw new CtlError(otherwise);
}

/** Valid keyspace names. */
const KEYSPACE = /^[a-z][a-z0-9_]{0,47}$/;

/** Reason why the text is not a valid place. Undefined if the text is valid. */
export function placeFaultOf(text: string): string | undefined {
  return found(text) === undefined ? 'must be sqlite:<file> or cassandra[:<keyspace>]' : undefined;
}

/**
 * Parses a place: `cassandra`, `cassandra:<keyspace>` or `sqlite:<file>`. Throws a `UsageError`.
 */
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
 * Escapes text from callers for an operator's terminal. Escaped text cannot control the terminal,
 * break a line or reorder letters.
 */

/**
 * Characters to escape: control characters (C0, C1), invisible and bidirectional characters, line
 * and paragraph separators, private and unassigned characters, lone surrogates. Joiners stay,
 * because emoji and several scripts need them.
 */
const STEERING = /[\p{C}\u2028\u2029]/gu;
const JOINERS = new Set(['\u200c', '\u200d']);

/**
 * Escapes printed text and keeps line breaks. All remaining line breaks come from the command
 * itself, because cells are escaped as single lines.
 */
export function escapedText(text: string): string {
  return escaped(text, (character) => character === '\n');
}

/** Escapes a cell or any other text of one line. */
export function escapedLine(text: string): string {
  return escaped(text, () => false);
}

/** Formats data as JSON with escaped characters as `\u…`. JSON parsers restore the characters. */
export function escapedJson(data: unknown): string {
  return escapedText(JSON.stringify(data, undefined, 2) ?? '');
}

function escaped(text: string, stays: (character: string) => boolean): string {
  return text.replaceAll(STEERING, (character) =>
    stays(character) || JOINERS.has(character) ? character : codeUnitsOf(character),
  );
}

/** JSON escape of a character: `\u001b`, or two escapes outside the basic plane. */
function codeUnitsOf(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
