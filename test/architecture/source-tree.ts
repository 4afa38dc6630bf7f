import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** Source files of the services, without generated code. */
export const SERVICES = globSync('services/**/*.{ts,tsx}', {
  exclude: ['services/infrastructure/grpc/gen/**'],
});

/** Source files of the repository, without generated code. */
export const ALL = [
  ...SERVICES,
  ...globSync('{test,bench,deploy,loadtest,clients/models}/**/*.ts'),
  ...globSync('clients/mcp/{src,test}/**/*.ts'),
  ...globSync('clients/typescript/{src,test,examples,models}/**/*.ts', {
    exclude: ['clients/typescript/src/models.ts'],
  }),
];

/** Reads the text of a source file. */
export const sourceOf = (file: string): string => readFileSync(file, 'utf8');

/** Import names in a source text, including type imports. */
export const importsIn = (source: string): string[] =>
  [...source.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');

/** Import names in a file, including type imports. */
export const importsOf = (file: string): string[] => importsIn(sourceOf(file));

const { imports } = JSON.parse(sourceOf('package.json')) as { imports: Record<string, string> };

/** Import graph: the imported files of each file, including type imports. */
export const importGraph = (): Map<string, string[]> =>
  new Map(ALL.map((file) => [file, importsOf(file).flatMap((name) => fileOf(name, file) ?? [])]));

/** Path of a file that `importer` imports; undefined for a package or a Node.js module. */
function fileOf(target: string, importer: string): string | undefined {
  if (/^\.\.?\//.test(target)) return posix.join(posix.dirname(importer), target);
  const [, layer, rest] = /^(#[^/]+)(?:\/(.*))?$/.exec(target) ?? [];
  const pattern = rest === undefined ? imports[target] : imports[`${layer}/*`];
  return pattern?.replace('*', rest ?? '').replace(/^\.\//, '');
}
