import { globSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DOCUMENTS } from '#test/docs/documents';

/** Numbers of headings and numbered paragraphs, with duplicates. */
function numbersIn(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (\d+(?:\.\d+)?)\.? (?:.*?, (\d+\.\d+) )?/gm)];
  const paragraphs = [...text.matchAll(/^- \*\*(\d+\.\d+)\*\*/gm)];
  return [
    ...headings.flatMap((match) => match.slice(1)),
    ...paragraphs.map(([, one]) => one),
  ].filter((one) => one !== undefined);
}

const textOf = (path: string) => readFileSync(path, 'utf8');

/** Numbers in the documents that may be cited, by the word before the number. */
const SOURCES: Record<string, readonly string[]> = {
  interface: numbersIn(textOf('docs/interface.md')),
  architecture: numbersIn(textOf('docs/architecture.md')),
  model: numbersIn(textOf('docs/model.md')),
  decision: numbersIn(textOf('docs/decisions.md')),
};

/** Plural forms of the words in `SOURCES`. */
const ALIASES: Record<string, string> = { decisions: 'decision' };

const CITATION =
  /\b(interface|spec|architecture|(?:identity-)?model(?! 1\.[01]\b)|decisions?) (\d+(?:\.\d+)?(?:(?:, | and | to | or )\d+(?:\.\d+)?)*)(?![\d%]| %|\.\d)/gi;

/** Citations in a text whose target does not exist. */
function unresolvedIn(path: string, text: string): string[] {
  // A citation may be split over two comment lines.
  const flat = text.replaceAll(/\s*\n\s*(?:\*|\/\/)?\s*/g, ' ');
  return [...flat.matchAll(CITATION)].flatMap(([, said = '', numbers = '']) => {
    const name = ALIASES[said.toLowerCase()] ?? said.toLowerCase();
    return numbers
      .split(/, | and | to | or /)
      .filter((number) => !SOURCES[name]?.includes(number))
      .map((number) => `${path}: ${name} ${number}`);
  });
}

const files = globSync(
  [
    'services/**/*.{ts,cql}',
    'test/**/*.ts',
    '{bench,loadtest}/**/*.ts',
    'clients/mcp/{src,test}/**/*.ts',
    'clients/typescript/{src,test,examples}/**/*.ts',
    'deploy/**/*',
    'proto/**/*.proto',
  ],
  { withFileTypes: true },
)
  .filter((entry) => entry.isFile())
  .map((entry) => `${entry.parentPath}/${entry.name}`)
  .filter(
    (path) =>
      !path.includes('services/infrastructure/grpc/gen/') && !path.endsWith('citations.test.ts'),
  );

const citations = suite('citations');

citations('in code have a target', () => {
  const unresolved = files.flatMap((path) => unresolvedIn(path, textOf(path)));
  assert.ok(files.length > 500, `${files.length}`);
  assert.equal(unresolved, []);
});

citations('in documents have a target', () => {
  assert.equal(
    DOCUMENTS.flatMap(({ path, text }) => unresolvedIn(path, text)),
    [],
  );
});

for (const [name, numbers] of Object.entries(SOURCES)) {
  citations(`by ${name} number have a unique target`, () => {
    assert.ok(numbers.length > 8, `${numbers.length}`);
    assert.equal(numbers, [...new Set(numbers)]);
  });
}

for (const [text, isUnresolved] of [
  ['Source: interface 8.3, decision 8.', false],
  ['Source: spec 8.3.', true],
  ['Source: interface 8.9.', true],
  ['decision 9999', true],
  ['decision 8, 9999 and 10', true],
  ['/** a (architecture\n * 3.3). */', false],
  ['// a (architecture\n// 3.33)', true],
  ['model 3.6 and 2.6', false],
  ['identity-model 3.6', true],
  ['model 2.9', true],
  ['the model 20 % faster', false],
  ['model 1.1', false],
] as const) {
  citations(
    `such as "${text.replaceAll('\n', ' ')}" are ${isUnresolved ? 'rejected' : 'accepted'}`,
    () => {
      assert.is(unresolvedIn('a.ts', text).length > 0, isUnresolved);
    },
  );
}

citations.run();
