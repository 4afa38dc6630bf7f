import { escapedLine } from '#ctl/printed-text';

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
