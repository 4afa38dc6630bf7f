import { readFileSync, writeFileSync } from 'node:fs';
import { compile } from 'json-schema-to-typescript';

/*
 * Writes src/models.ts out of ../models/models.json, or compares the two with `--check`: ends with 1 where
 * the committed file is not what the document gives. Usage: node models/write-models.ts [--check]
 */

const SOURCE = new URL('../../models/models.json', import.meta.url);
const TARGET = new URL('../src/models.ts', import.meta.url);

const BANNER = `/*
 * What the service takes and answers, with the names of the wire. Made by models/write-models.ts from
 * clients/models/models.json; not to be edited.
 */`;

const made = await compile(JSON.parse(readFileSync(SOURCE, 'utf8')), 'Models', {
  bannerComment: BANNER,
  additionalProperties: true,
  unreachableDefinitions: true,
  style: { singleQuote: true, printWidth: 100 },
});
// Left out: where the generator found a model, and the root that only holds them. `Error` would hide
// the language's own. One line stays one line.
const text = made
  .replaceAll(
    /( \*\n)? \* This \w+ was referenced by `Models`'s JSON-Schema\n \* via the `\w+` "\w+"\.\n/g,
    '',
  )
  .replaceAll(/^\/\*\*\n \*\/\n/gm, '')
  .replace(/\/\*\*(?:(?!\*\/)[\s\S])*\*\/\nexport interface Models \{[^}]*\}\n/, '')
  .replace('export interface Error {', 'export interface ErrorBody {')
  // TypeDoc takes brackets of a bare pattern for a link.
  .replaceAll(/([Pp]attern) (\^[^\n]*?\$)(?=[.;]| \*\/)/g, '$1 `$2`')
  .replaceAll(/\/\*\*\n +\* ([^\n]{1,88})\n +\*\//g, '/** $1 */');
if (!process.argv.includes('--check')) {
  writeFileSync(TARGET, text);
} else if (readFileSync(TARGET, 'utf8') !== text) {
  console.error('src/models.ts is not what clients/models/models.json gives: npm run models');
  process.exitCode = 1;
}
