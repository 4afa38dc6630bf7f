import type { WireCase } from '#test/clients/wire-case';

/** Characters of a value that stays on one line. */
const LINE_CHARACTERS_MAX = 96;

/** Values that stay on one line, however long: machines read them. */
const LINES = new Set(['headers', 'body', 'chunks', 'request', 'call', 'limits']);

/** A file of cases as text: a case over few lines, a body on one. */
export function caseText(cases: readonly WireCase[]): string {
  return `${textOf({ $schema: 'case.schema.json', cases }, '', '')}\n`;
}

function textOf(value: unknown, indent: string, name: string): string {
  const line = JSON.stringify(value);
  const isShort = line.length + indent.length <= LINE_CHARACTERS_MAX && name !== 'cases';
  if (isShort || LINES.has(name) || typeof value !== 'object' || value === null) return line;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => `${inner}${textOf(item, inner, '')}`);
    return `[\n${items.join(',\n')}\n${indent}]`;
  }
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .map(([key, field]) => `${inner}${JSON.stringify(key)}: ${textOf(field, inner, key)}`);
  return `{\n${fields.join(',\n')}\n${indent}}`;
}
