import { installedK6 } from '#deploy/local/k6-install';

/*
 * Brings what tests need and takes longer than a test file has, once, into the cache.
 * Usage: node deploy/local/fetch-tools.ts
 */

try {
  console.log(`k6: ${await installedK6(console.log)}`);
} catch (error) {
  console.error(`tools: ${(error as Error).message}`);
  process.exitCode = 1;
}
