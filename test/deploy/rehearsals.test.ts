import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ALERTS } from '#deploy/observe/rule-files';
import { NOT_REHEARSED, REHEARSALS } from '#test/observe/rehearsals';

const rehearsed = suite('every alert');

rehearsed('is raised by a fault that can be rehearsed, or it is said why not', () => {
  const raised = REHEARSALS.flatMap(({ alerts }) => alerts);
  const names = [...raised, ...Object.keys(NOT_REHEARSED)].sort();
  assert.equal(names, ALERTS.map(({ name }) => name).toSorted());
});

rehearsed('stands in the runbook with what came of its rehearsal, or why there is none', () => {
  const runbook = readFileSync('docs/runbook.md', 'utf8');
  const rows = new Set([...runbook.matchAll(/^\| (\w+) \|/gm)].map(([, name = '']) => name));
  for (const { name } of ALERTS) assert.ok(rows.has(name), name);
});

rehearsed.run();
