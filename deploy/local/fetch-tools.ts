import { installedGenerators } from '#deploy/local/install/generators';
import { installedJaeger } from '#deploy/local/install/jaeger';
import { installedK6 } from '#deploy/local/install/k6';
import { installedKustomize } from '#deploy/local/install/kustomize';
import { installedNode, NODE_RELEASES } from '#deploy/local/install/node-releases';
import { installedStripeMock } from '#deploy/local/install/stripe-mock';
import type { Print } from '#deploy/local/progress';

/*
 * Installs tools for tests into the cache. Separate, because an installation takes longer than a
 * test may.
 *
 * Usage: node deploy/local/fetch-tools.ts
 */

for (const [name, install] of [
  ['k6', installedK6],
  ['generators', async (print: Print) => (await installedGenerators(print)).folder],
  ['jaeger', installedJaeger],
  ['kustomize', installedKustomize],
  ['stripe-mock', installedStripeMock],
  ...NODE_RELEASES.map(
    (release) => [`node ${release}`, (print: Print) => installedNode(release, print)] as const,
  ),
] as const) {
  try {
    console.log(`${name}: ${await install(console.log)}`);
  } catch (error) {
    console.error(`tools: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
