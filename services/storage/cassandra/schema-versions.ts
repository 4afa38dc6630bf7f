import { readFileSync } from 'node:fs';

/** What one version of the schema adds. */
export type SchemaVersion = { readonly version: number; readonly statements: readonly string[] };

const VERSION_LINE = /^-- version (\d+)$/;

/** The versions that this program knows, oldest first: the text of schema.cql. */
export function knownVersions(): SchemaVersion[] {
  return versionsIn(readFileSync(new URL('schema.cql', import.meta.url), 'utf8'));
}

/**
 * The versions that a text of CQL defines: a line `-- version N` begins one, numbers count up from
 * 1, and every statement ends with a semicolon at the end of a line. Throws an Error for other text.
 */
export function versionsIn(text: string): SchemaVersion[] {
  const versions: { version: number; statements: string[] }[] = [];
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const number = VERSION_LINE.exec(line)?.[1];
    const code = line.replace(/--.*$/, '').trimEnd();
    if (number !== undefined) {
      if (Number(number) !== versions.length + 1)
        throw new Error(`version ${number} is out of turn`);
      versions.push({ version: Number(number), statements: [] });
    }
    if (code === '') continue;
    lines.push(code.replace(/;$/, ''));
    if (!code.endsWith(';')) continue;
    const open = versions.at(-1);
    if (open === undefined) throw new Error('a statement stands before the first version');
    open.statements.push(lines.join('\n'));
    lines = [];
  }
  if (lines.length > 0) throw new Error('the last statement has no end');
  return versions;
}
