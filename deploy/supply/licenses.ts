import { licenseFaults, licenseOf } from '#deploy/supply/license-faults';
import { MCP_LOCKFILE, shippedPackages } from '#deploy/supply/locked-packages';

/*
 * Prints packages without an allowed licence; exits with 1 if it prints any. With `--list`, counts
 * the licences of all shipped packages.
 *
 * Usage: node deploy/supply/licenses.ts [--list]
 */

const packages = [...shippedPackages(), ...shippedPackages(MCP_LOCKFILE)];
const faults = licenseFaults(packages);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
if (process.argv[2] === '--list') {
  const counts = new Map<string, number>();
  for (const each of packages) {
    const license = licenseOf(each) ?? 'no licence';
    counts.set(license, (counts.get(license) ?? 0) + 1);
  }
  for (const [license, count] of [...counts].toSorted(([, a], [, b]) => b - a)) {
    console.log(`${String(count).padStart(4)}  ${license}`);
  }
}
