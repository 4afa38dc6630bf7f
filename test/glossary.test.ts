import { globSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RETIRED, type RetiredWord } from '#test/glossary/retired-words';

/**
 * Prepares a text for the patterns of the retired words: splits identifiers, joins comment lines
 * and converts to lower case.
 */
function wordsOf(source: string): string {
  return source
    .replaceAll(/\n[ \t]*(?:\*|\/\/|#|--)?[ \t]*/g, ' ')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}

/** Files that list the retired words, generated files, and files of earlier releases. */
const EXEMPT =
  /^docs\/(glossary|bounds)\.md$|^test\/glossary[./]|^services\/infrastructure\/grpc\/gen\/|^test\/fixtures\//;

const FILES = globSync([
  'README.md',
  'docs/**/*.md',
  'proto/**/*.proto',
  'deploy/**/*.{yaml,conf,sh,cql}',
  '{services,test,bench,deploy,loadtest}/**/*.{ts,tsx,css,cql,lua,sh}',
  'clients/mcp/{src,test}/**/*.ts',
  'clients/typescript/{src,test,examples,models}/**/*.ts',
  'clients/{mcp,typescript}/*.md',
]).filter((file) => !EXEMPT.test(file));

const texts = new Map(FILES.map((file) => [file, wordsOf(readFileSync(file, 'utf8'))]));

const glossary = suite('the words of this repository');

glossary('are checked in more than 900 files', () => {
  assert.ok(FILES.length > 900, `only ${FILES.length} files were found`);
});

for (const retired of RETIRED) {
  glossary(`do not include "${retired.word}", but ${retired.use}`, () => {
    const found = usesOf(retired);
    assert.is(found.length, 0, found.join('\n'));
  });
}

glossary('are split from identifiers and joined across the lines of a comment', () => {
  const source = 'const toldAtMs = MOVE_RULES;\n/* so\n * many */';
  assert.is(wordsOf(source), 'const told at ms = move rules; /* so many */');
});

/** All uses of a retired word, with the surrounding text. */
function usesOf({ pattern, within, except }: RetiredWord): string[] {
  return [...texts].flatMap(([file, text]) => {
    if (within?.test(file) === false || except?.test(file) === true) return [];
    return [...text.matchAll(new RegExp(pattern, 'g'))].map(
      ({ index }) => `${file}: ${text.slice(Math.max(0, index - 30), index + 40)}`,
    );
  });
}

glossary.run();
