import { existsSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cyclesIn } from '#test/architecture/import-cycles';
import { ALL, fileOf, importsOf } from '#test/architecture/source-tree';

const graph = new Map(
  ALL.map((file) => [file, importsOf(file).flatMap((target) => fileOf(target) ?? [])]),
);

const search = suite('the search for cycles');

search('finds every file that imports itself through others, and no other', () => {
  const imports = { a: ['b'], b: ['c', 'd'], c: ['a'], d: ['e'], e: [], f: ['f'] };
  assert.equal(cyclesIn(new Map(Object.entries(imports))), [['a', 'b', 'c'], ['f']]);
});

search('keeps two cycles apart that one file joins in one direction', () => {
  const imports = { a: ['b'], b: ['a', 'c'], c: ['d'], d: ['c'] };
  assert.equal(cyclesIn(new Map(Object.entries(imports))), [
    ['a', 'b'],
    ['c', 'd'],
  ]);
});

const tree = suite('the imports of all files');

tree('are found with their files', () => {
  const targets = [...graph.values()].flat();
  assert.ok(targets.length > 3_000, 'a gate that looks at nothing passes everything');
  assert.equal(
    targets.filter((file) => !existsSync(file)),
    [],
  );
});

tree('have no cycle, types included', () => {
  assert.equal(cyclesIn(graph), []);
});

for (const each of [search, tree]) each.run();
