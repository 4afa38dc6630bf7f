import { relative } from 'node:path';
import { buildPackage, type PackageName } from '#deploy/packages/packages';

/*
 * Builds the packages of the clients for npm and PyPI.
 *
 * Usage: node deploy/packages/main.ts REPOSITORY [folder] [typescript|mcp|python …]
 */

const [repository = '', out = 'build/packages', ...names] = process.argv.slice(2);
if (!repository.startsWith('https://')) {
  console.error('REPOSITORY is missing: make packages REPOSITORY=https://github.com/OWNER/NAME');
  process.exit(2);
}
const all: readonly PackageName[] = ['typescript', 'mcp', 'python'];
for (const name of all) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.error(`building the package ${name} ...`);
  for (const path of await buildPackage(name, { repository, out })) {
    console.log(relative('.', path));
  }
}
