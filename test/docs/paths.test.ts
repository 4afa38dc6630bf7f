import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DOCUMENTS, type Document, documentOf } from '#test/docs/documents';

/** First folders of a path in a document. */
const ROOTS = ['services', 'test', 'docs', 'deploy', 'bench', 'loadtest', 'proto', 'clients'];
const ROOMS = new Map(
  globSync('services/*/*/').map((folder) => [basename(folder), dirname(folder)] as const),
);

const PATH = /^([a-z][\w-]*)\/([\w.*/-]*)(?:#(\w+))?$/;

/** Files or folders that match a path in a document, with or without extension. */
function meantBy(path: string): string[] {
  const group = ROOMS.get(path.split('/')[0] ?? '');
  const roots = group === undefined ? [path] : [`${group}/${path}`];
  const endings = roots.flatMap((one) => [one, `${one}.ts`, `${one}.test.ts`]);
  return endings.flatMap((one) =>
    one.includes('*') ? globSync(one) : existsSync(one) ? [one] : [],
  );
}

function hasWord(files: readonly string[], word: string): boolean {
  const pattern = new RegExp(`(?<![\\w$])${word.replaceAll('.', '\\.')}(?![\\w$])`);
  return files.some((file) => statSync(file).isFile() && pattern.test(readFileSync(file, 'utf8')));
}

/** Whether code is a path that does not exist. */
function isMissing(code: string): boolean {
  const [, first = '', , symbol] = PATH.exec(code) ?? [];
  if (!ROOTS.includes(first) && !ROOMS.has(first)) return false;
  const files = meantBy(code.replace(/#.*/, ''));
  return files.length === 0 || (symbol !== undefined && !hasWord(files, symbol));
}

/** Whether code names a symbol that the file in the preceding span does not contain. */
function isNotOf(owner: string, code: string): boolean {
  const isSaid = ROOMS.has(PATH.exec(owner)?.[1] ?? '') && /^#?[A-Za-z_]\w*$/.test(code);
  return isSaid && !hasWord(meantBy(owner.replace(/#.*/, '')), code.replace('#', ''));
}

/** Paths and symbols in a document that do not exist. */
function faultsIn({ path, spans }: Document): string[] {
  return spans.flatMap(({ code, follows = '' }) => [
    ...(isMissing(code) ? [`${path}: ${code}`] : []),
    ...(isNotOf(follows, code) ? [`${path}: ${follows} has no ${code}`] : []),
  ]);
}

const paths = suite('the paths in documents');

paths('exist and contain the named symbols', () => {
  assert.ok(DOCUMENTS.length > 15, `${DOCUMENTS.length}`);
  assert.equal(DOCUMENTS.flatMap(faultsIn), []);
});

const finder = suite('the path check');

for (const [text, isFault] of [
  ['`services/main.ts`', false],
  ['`actor-runtime/commit-log`', false],
  ['`actor-runtime/commit-logs`', true],
  ['`test/docs/paths`', false],
  ['`test/docs/path`', true],
  ['`storage/cassandra/*`', false],
  ['`storage/casandra/*`', true],
  ['`services/config.ts#readConfig`', false],
  ['`services/config.ts#readConfiguration`', true],
  [
    '`cluster/shard-owners` `buildRing`',
    !/buildRing/.test(readFileSync('services/actor-system/cluster/shard-owners.ts', 'utf8')),
  ],
  ['`cluster/shard-owners` `nothingOfIt`', true],
  ['`cluster/shard-owners`, `nothingOfIt`', false],
  ['`/health/ready` and `application/json`', false],
] as const) {
  finder(`${isFault ? 'rejects' : 'accepts'} ${text}`, () => {
    assert.is(faultsIn(documentOf('a.md', text)).length > 0, isFault);
  });
}

paths.run();
finder.run();
