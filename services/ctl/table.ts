/** Columns stand this many spaces apart. */
const GAP = '  ';

/** Rows under headings, every column as wide as its widest cell; numbers may be given as text. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => [...(row[column] ?? '')].length)),
  );
  const line = (row: readonly string[]) =>
    row
      .map(
        (cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - [...cell].length)),
      )
      .join(GAP)
      .trimEnd();
  return [headings, ...rows].map(line).join('\n');
}
