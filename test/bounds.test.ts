import { globSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { boundsByFile } from '#deploy/documents/bounds-document';
import { boundsIn, boundText } from '#deploy/documents/bounds-in-source';

const files = suite('the files that hold nothing but bounds');

for (const path of globSync('services/**/*bounds.ts')) {
  files(`as ${path} give every constant to the table of bounds, with its reason`, () => {
    const source = readFileSync(path, 'utf8');
    const names = [...source.matchAll(/^export const ([A-Z]\w+)/gm)].map(([, name]) => name);
    const bounds = boundsByFile().get(path) ?? [];
    assert.ok(names.length > 0, path);
    assert.equal(
      bounds.map(({ name }) => name),
      names,
    );
    for (const { name, meaning } of bounds) assert.match(meaning, /\w.*[.)]$/, name);
  });
}

files('are not the only ones with bounds', () => {
  const count = [...boundsByFile().values()].flat().length;
  assert.ok(count > 250, `${count}`);
});

const reading = suite('a bound in a source');

const SOURCE = `
/**
 * Calls that wait. Two
 * lines.
 */
export const CALLS_MAX = 1_024;
const HIDDEN_MS = 2_500;
/** Twice. */
const TWICE_MS = 2 * HIDDEN_MS;
/** No bound. */
const WORD = 'a';
`;

reading('is taken with its comment as one line, if its name says that it is one', () => {
  const names = (path: string) => boundsIn(path, SOURCE).map(({ name }) => name);
  assert.equal(names('services/a/calls.ts'), ['CALLS_MAX', 'TWICE_MS']);
  assert.equal(names('services/a/bounds.ts'), ['CALLS_MAX', 'HIDDEN_MS', 'TWICE_MS']);
  const [first] = boundsIn('services/a/calls.ts', SOURCE);
  assert.is(first?.meaning, 'Calls that wait. Two lines.');
});

for (const [name, expression, text] of [
  ['CALLS_MAX', '1024', '1,024'],
  ['WAIT_MS', '2500', '2.5 s'],
  ['WAIT_MS', '300', '300 ms'],
  ['AGE_MS_MAX', '24 * 60 * 60 * 1000', '1 d'],
  ['BODY_BYTES_MAX', '32 * 1024', '32 KiB'],
  ['ODD_BYTES_MAX', '400', '400 B'],
  ['ID_MAX', '2 ** 20', '1,048,576'],
  ['TWICE_MS', '2 * HIDDEN_MS', '`2 * HIDDEN_MS`'],
] as const) {
  reading(`${name} = ${expression} is shown as ${text}`, () => {
    assert.is(boundText({ name, expression }), text);
  });
}

files.run();
reading.run();
