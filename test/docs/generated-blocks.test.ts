import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { COMMANDS } from '#ctl/ctl';
import { withBlock } from '#deploy/documents/generated-block';
import { GENERATED_BLOCKS } from '#deploy/documents/generated-blocks';
import { reportLines } from '#deploy/documents/report-lines';

const documents = suite('the generated parts of documents');

for (const { document, name, lines } of GENERATED_BLOCKS) {
  documents(`match the ${name} of the code in ${document}`, () => {
    const text = readFileSync(document, 'utf8');
    assert.is(text, withBlock(text, name, lines()), 'run make generate');
  });
}

documents('describe every ctl command in one sentence', () => {
  assert.ok(COMMANDS.length >= 17, `${COMMANDS.length}`);
  for (const { words, description } of COMMANDS) {
    assert.match(description, /^[A-Z].*\.$/s, words.join(' '));
  }
});

const reports = suite('the table of public reports');

reports('has a row for each report comment above a test', () => {
  assert.ok(reportLines().length > 100, `${reportLines().length}`);
});

const block = suite('a generated block');

const TEXT = 'before\n<!-- generated: a -->\nold\n<!-- end: a -->\nafter\n';

block('replaces the text between its marker comments', () => {
  const made = withBlock(TEXT, 'a', ['new']);
  assert.is(made, 'before\n<!-- generated: a -->\n\nnew\n\n<!-- end: a -->\nafter\n');
  assert.is(withBlock(made, 'a', ['new']), made);
});

for (const [what, text] of [
  ['missing', 'before'],
  ['duplicated', TEXT + TEXT],
  ['not terminated', TEXT.replace('end', 'and')],
] as const) {
  block(`is rejected if ${what}`, () => {
    assert.throws(() => withBlock(text, 'a', []), /block "a" exactly once/);
  });
}

documents.run();
reports.run();
block.run();
