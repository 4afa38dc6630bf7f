import { existsSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cyclesIn } from '#test/architecture/import-cycles';
import { importGraph } from '#test/architecture/source-tree';

const graph = importGraph();

const search = suite('the search for import cycles');

search('finds exactly the files that import themselves directly or indirectly', () => {
  const imports = { a: ['b'], b: ['c', 'd'], c: ['a'], d: ['e'], e: [], f: ['f'] };
  assert.equal(cyclesIn(new Map(Object.entries(imports))), [['a', 'b', 'c'], ['f']]);
});

search('separates two cycles that are connected in one direction only', () => {
  const imports = { a: ['b'], b: ['a', 'c'], c: ['d'], d: ['c'] };
  assert.equal(cyclesIn(new Map(Object.entries(imports))), [
    ['a', 'b'],
    ['c', 'd'],
  ]);
});

const tree = suite('the imports of all files');

tree('resolve to existing files', () => {
  const targets = [...graph.values()].flat();
  assert.ok(targets.length > 3_000, `only ${targets.length} imports were found`);
  assert.equal(
    targets.filter((file) => !existsSync(file)),
    [],
  );
});

tree('have no cycles, including type imports', () => {
  assert.equal(cyclesIn(graph), []);
});

for (const each of [search, tree]) each.run();
