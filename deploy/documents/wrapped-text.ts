/** Maximum line length in a document. */
const LINE_MAX = 120;

/** Breaks long lines of text and lists, but not of tables. */
export function wrapped(text: string): string {
  return text
    .split('\n')
    .flatMap((line) => (/^[|!#]/.test(line) ? line : brokenLine(line)))
    .join('\n');
}

function brokenLine(line: string): string[] {
  const indent = line.startsWith('- ') ? '  ' : '';
  const lines: string[] = [];
  let rest = line;
  while (rest.length > LINE_MAX) {
    const end = rest.lastIndexOf(' ', LINE_MAX);
    if (end <= indent.length) break;
    lines.push(rest.slice(0, end));
    rest = `${indent}${rest.slice(end + 1)}`;
  }
  return [...lines, rest];
}
