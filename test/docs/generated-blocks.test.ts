import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { COMMANDS } from '#ctl/ctl';
import { withBlock } from '#deploy/documents/generated-block';
import { GENERATED_BLOCKS } from '#deploy/documents/generated-blocks';
import { reportLines } from '#deploy/documents/report-lines';

const documents = suite('the generated parts of documents');

for (const { document, name, lines } of GENERATED_BLOCKS) {
  documents(`in ${document} are the ${name} of the code`, () => {
    const text = readFileSync(document, 'utf8');
    assert.is(text, withBlock(text, name, lines()), 'run `make generate`');
  });
}

documents('describe every ctl command in one sentence', () => {
  assert.ok(COMMANDS.length >= 17, `${COMMANDS.length}`);
  for (const { words, description } of COMMANDS) {
    assert.match(description, /^[A-Z].*\.$/s, words.join(' '));
  }
});

const reports = suite('the table of public reports');

reports('has a row for each report, which stands directly above its test', () => {
  assert.ok(reportLines().length > 100, `${reportLines().length}`);
});

const block = suite('a block of a document');

const TEXT = 'before\n<!-- generated: a -->\nold\n<!-- end: a -->\nafter\n';

block('is replaced between its marker comments', () => {
  const made = withBlock(TEXT, 'a', ['new']);
  assert.is(made, 'before\n<!-- generated: a -->\n\nnew\n\n<!-- end: a -->\nafter\n');
  assert.is(withBlock(made, 'a', ['new']), made);
});

for (const [what, text] of [
  ['missing', 'before'],
  ['there twice', TEXT + TEXT],
  ['not ended', TEXT.replace('end', 'and')],
] as const) {
  block(`is rejected if ${what}`, () => {
    assert.throws(() => withBlock(text, 'a', []), /one block "a"/);
  });
}

documents.run();
reports.run();
block.run();
