import { globSync, readFileSync } from 'node:fs';

/** The source of the services, without generated code. */
export const SERVICES = globSync('services/**/*.{ts,tsx}', {
  exclude: ['services/infrastructure/grpc/gen/**'],
});

/** All source files of this repository, without generated code. */
export const ALL = [
  ...SERVICES,
  ...globSync('{test,bench,deploy,loadtest,clients/models}/**/*.ts'),
  ...globSync('clients/typescript/{src,test,examples,models}/**/*.ts', {
    exclude: ['clients/typescript/src/models.ts'],
  }),
];

/** The text of a file. */
export const sourceOf = (file: string): string => readFileSync(file, 'utf8');

/** Import names in a source text, types included. */
export const importsIn = (source: string): string[] =>
  [...source.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');

/** Import names of a file, types included. */
export const importsOf = (file: string): string[] => importsIn(sourceOf(file));

const { imports } = JSON.parse(sourceOf('package.json')) as { imports: Record<string, string> };

/** File of an import name; undefined for a package or a Node.js module. */
export function fileOf(target: string): string | undefined {
  const [, layer, rest] = /^(#[^/]+)(?:\/(.*))?$/.exec(target) ?? [];
  const pattern = rest === undefined ? imports[target] : imports[`${layer}/*`];
  return pattern?.replace('*', rest ?? '').replace(/^\.\//, '');
}
