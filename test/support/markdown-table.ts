/** The lines of a Markdown table with these columns. A bar inside a cell is escaped. */
export function tableLines(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(columns), `|${'---|'.repeat(columns.length)}`, ...rows.map(line)];
}

/** The table in `text` that has these columns: its lines without padding, or undefined. */
export function tableIn(text: string, columns: readonly string[]): string[] | undefined {
  const lines = text.split('\n').map(unpadded);
  const first = lines.indexOf(tableLines(columns, [])[0] ?? '');
  if (first < 0) return undefined;
  const end = lines.findIndex((line, index) => index > first && !line.startsWith('|'));
  const [head = '', , ...rows] = lines.slice(first, end < 0 ? lines.length : end);
  return [head, tableLines(columns, [])[1] ?? '', ...rows];
}

function unpadded(line: string): string {
  return line.trim().replace(/ *\| */g, (bar, at: number) => {
    if (at === 0) return '| ';
    return at + bar.length === line.trim().length ? ' |' : ' | ';
  });
}
