/** What spreadsheets take for the beginning of a formula. Source: OWASP, CSV injection. */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * A table as CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe in
 * front of it, which makes it text there; numbers are ours and stay as they are.
 */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
