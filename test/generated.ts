import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GENERATED_BLOCKS } from '#deploy/documents/generated-blocks';
import { observeFiles } from '#deploy/observe/observe-files';

/*
 * Generates all generated files again and compares them with the files in the checkout. Lists the
 * files that differ; the exit status is then 1. The new files stay in the checkout.
 */

/** Paths that `npm run generate` writes. */
const GENERATED = [
  ...[
    'services/infrastructure/grpc/gen',
    'docs/openapi.json',
    'clients/models/models.json',
    'clients/cases',
    'clients/agent/agent-cases.json',
    'clients/typescript/src/agent/contract-prompt.ts',
    'clients/python/src/identity_engine/_agent/tables.json',
  ],
  ...observeFiles().keys(),
  ...new Set(GENERATED_BLOCKS.map(({ document }) => document)),
];

const before = mkdtempSync(join(tmpdir(), 'generated-'));
for (const path of GENERATED) cpSync(path, join(before, path), { recursive: true });
try {
  execFileSync('npm', ['run', '--silent', 'generate'], { stdio: 'inherit' });
  for (const path of GENERATED) compare(path);
} finally {
  rmSync(before, { recursive: true });
}

function compare(path: string): void {
  try {
    execFileSync('diff', ['-r', '-q', join(before, path), path], { stdio: 'pipe' });
  } catch (error) {
    const { stdout } = error as { stdout: Buffer };
    console.error(`${path} was out of date and is generated again: check and commit it`);
    console.error(stdout.toString());
    process.exitCode = 1;
  }
}
