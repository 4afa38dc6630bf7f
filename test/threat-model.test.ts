import { existsSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const DOCUMENTS = ['docs/threat-model.md', 'SECURITY.md'];

const text = readFileSync('docs/threat-model.md', 'utf8');

/** Cells of each table row, without the header rows. */
const rows = text
  .split('\n')
  .filter((line) => /^\| (?!Attack|Mistake|Risk)/.test(line))
  .map((line) => line.slice(2, -2).split(' | '));

/** Paths of this repository between backticks in a text. */
function pathsIn(words: string): readonly string[] {
  return [...words.matchAll(/`((?:test|docs|deploy|services|bench)\/[\w./-]+)`/g)].map(
    ([, path = '']) => path,
  );
}

const model = suite('the threat model');

model('names a test in every row, and every named test exists', () => {
  assert.ok(rows.length >= 45, `${rows.length}`);
  for (const [name = '', ...cells] of rows) {
    const tests = pathsIn(cells.at(-1) ?? '').filter((path) => path.startsWith('test/'));
    assert.ok(tests.length > 0, name);
    for (const path of tests) assert.ok(existsSync(`${path}.test.ts`), `${name}: ${path}`);
  }
});

model('has text in every cell, so that every row has a countermeasure', () => {
  for (const [name = '', ...cells] of rows) {
    for (const cell of cells) assert.ok(cell.trim().length > 3, name);
  }
});

model('gives every row a unique name, and refers only to names of rows', () => {
  const names = rows.flatMap(([name = '']) => /^([A-Z]\d+): /.exec(name)?.[1] ?? []);
  assert.equal(names, [...new Set(names)]);
  for (const [, references = ''] of text.matchAll(/\(((?:[A-Z]\d+(?:, )?)+)\)/g)) {
    for (const name of references.split(', ')) assert.ok(names.includes(name), name);
  }
});

model('has each of the ten risks of OWASP’s list of 2023', () => {
  const risks = rows.map(([name = '']) => /^API(\d+) /.exec(name)?.[1]).filter(Boolean);
  assert.equal(risks.map(Number), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

const documents = suite('the security documents');

documents('are linked in the README', () => {
  const readme = readFileSync('README.md', 'utf8');
  for (const document of DOCUMENTS) assert.ok(readme.includes(`](${document})`), document);
});

for (const each of [model, documents]) each.run();
