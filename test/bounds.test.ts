import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

/** The files that hold nothing but bounds. */
const FILES = [
  'runtime/bounds',
  'node/bounds',
  'cluster/bounds',
  'routing/routing-bounds',
  'wire/wire-bounds',
  'limiter/bounds',
];

const table = suite('the table of bounds in docs/architecture.md');

for (const file of FILES) {
  table(`has every bound of ${file}, and none that is gone`, () => {
    const source = readFileSync(`services/${file}.ts`, 'utf8');
    const names = [...source.matchAll(/^export const ([A-Z_]+)/gm)].map(([, name]) => name);
    const rows = readFileSync('docs/architecture.md', 'utf8').split('\n');
    const listed = rows.filter((row) => row.endsWith(`| \`${file}\` |`));
    assert.equal(listed.map((row) => row.split('`')[1]).toSorted(), names.toSorted());
  });
}

table('names the file in which each bound stands', () => {
  const rows = readFileSync('docs/architecture.md', 'utf8').matchAll(
    /^\| `([A-Za-z_.]+)` \|.*\| `([a-z-]+(?:\/[a-z-]+)+)` \|$/gm,
  );
  let count = 0;
  for (const [, bound = '', file = ''] of rows) {
    const name = bound.split('.').at(-1);
    const source = readFileSync(`services/${file}.ts`, 'utf8');
    assert.match(source, new RegExp(`\\b${name}\\b ?[=:]`), `${bound} is not in ${file}`);
    count += 1;
  }
  assert.ok(count > 80, `${count}`);
});

table.run();
