import type { WireCase } from '#test/clients/cases/wire-case';

/** Maximum length of a value on one line. */
const LINE_CHARACTERS_MAX = 96;

/** Fields on one line regardless of length, because only machines read them. */
const LINES = new Set(['headers', 'body', 'chunks', 'request', 'call', 'limits']);

/** Formats a case file: a case over a few lines, each body on one line. */
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
