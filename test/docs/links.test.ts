import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anchorsIn, DOCUMENTS, type Document, documentOf } from '#test/docs/documents';

const LINK = /\]\(([^)\s]+)\)/g;

/** Broken links of a document. */
function deadLinksIn({ path, text }: Document): string[] {
  const targets = [...text.matchAll(LINK)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^(?:https?|mailto):/.test(target))
    .filter((target) => {
      const [file = '', anchor] = target.split('#');
      const found = file === '' ? path : join(dirname(path), file);
      if (!existsSync(found)) return true;
      const own = file === '' ? text : readFileSync(found, 'utf8');
      return anchor !== undefined && !anchorsIn(own).has(anchor);
    })
    .map((target) => `${path}: ${target}`);
}

const links = suite('the links of documents');

links('lead to existing files and headings', () => {
  const count = DOCUMENTS.flatMap(({ text }) => [...text.matchAll(LINK)]).length;
  assert.ok(count > 40, `${count}`);
  assert.equal(DOCUMENTS.flatMap(deadLinksIn), []);
});

for (const [text, isDead] of [
  ['[a](docs/model.md)', false],
  ['[a](docs/modell.md)', true],
  ['[a](docs/model.md#36-the-deviation-object)', false],
  ['[a](docs/model.md#36-a-deviation-object)', true],
  ['[a](#two-words)\n\n## Two words', false],
  ['[a](#two-words)\n\n```\n## Two words\n```', true],
  ['[a](https://example.com/nowhere)', false],
] as const) {
  links(`such as ${text.split('\n')[0]} are ${isDead ? 'rejected' : 'accepted'}`, () => {
    assert.is(deadLinksIn(documentOf('README.md', text)).length > 0, isDead);
  });
}

links('in docs/README.md include every document in docs', () => {
  const index = readFileSync('docs/README.md', 'utf8');
  const missing = globSync('docs/*.{md,json}').filter(
    (path) => path !== 'docs/README.md' && !index.includes(`](${path.slice('docs/'.length)})`),
  );
  assert.equal(missing, []);
});

links.run();
