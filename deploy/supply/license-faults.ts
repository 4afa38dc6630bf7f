import { ALLOWED_LICENSES, READ_LICENSES } from '#deploy/supply/allowed-licenses';
import type { LockedPackage } from '#deploy/supply/locked-packages';

/** Licence of a package: the entry in `READ_LICENSES`, otherwise the package's licence field. */
export function licenseOf({ name, version, license }: LockedPackage): string | undefined {
  return READ_LICENSES[`${name}@${version}`] ?? license;
}

/**
 * Lists packages without an allowed licence, and entries of `READ_LICENSES` for packages that are
 * not shipped, a line each.
 */
export function licenseFaults(packages: readonly LockedPackage[]): readonly string[] {
  const faults = packages
    .filter((each) => !isAllowed(licenseOf(each) ?? ''))
    .map((each) => {
      const license = licenseOf(each) ?? 'no licence';
      return `${each.name}@${each.version}: ${license}; check this licence, then add it to deploy/supply/allowed-licenses.ts`;
    });
  const names = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  const stale = Object.keys(READ_LICENSES)
    .filter((name) => !names.has(name))
    .map((name) => `${name}: no longer shipped; remove it from deploy/supply/allowed-licenses.ts`);
  return [...faults, ...stale];
}

/** Whether an SPDX expression permits use under an allowed licence. Refuses nested expressions. */
function isAllowed(expression: string): boolean {
  const plain = expression.replace(/^\(([^()]*)\)$/, '$1');
  if (plain.includes(' OR ') && plain.includes(' AND ')) return false;
  if (plain.includes(' AND ')) {
    return plain.split(' AND ').every((part) => ALLOWED_LICENSES.includes(part));
  }
  return plain.split(' OR ').some((part) => ALLOWED_LICENSES.includes(part));
}
