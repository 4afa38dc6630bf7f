import { ALLOWED_LICENSES, READ_LICENSES } from '#deploy/supply/allowed-licenses';
import type { LockedPackage } from '#deploy/supply/locked-packages';

/** Licence of a package: from `READ_LICENSES`, or else its own licence field. */
export function licenseOf({ name, version, license }: LockedPackage): string | undefined {
  return READ_LICENSES[`${name}@${version}`] ?? license;
}

/**
 * Faults, one line each: packages without an allowed licence, and entries of `READ_LICENSES` for
 * packages that are not shipped.
 */
export function licenseFaults(packages: readonly LockedPackage[]): readonly string[] {
  const faults = packages
    .filter((each) => !isAllowed(licenseOf(each) ?? ''))
    .map((each) => {
      const license = licenseOf(each) ?? 'no licence';
      return `${each.name}@${each.version}: ${license}; look, and extend deploy/supply/allowed-licenses.ts`;
    });
  const names = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  const stale = Object.keys(READ_LICENSES)
    .filter((name) => !names.has(name))
    .map((name) => `${name}: is not shipped any more; take it out of allowed-licenses.ts`);
  return [...faults, ...stale];
}

/**
 * Whether an SPDX expression allows the use under an allowed licence. Nested expressions are
 * refused.
 */
function isAllowed(expression: string): boolean {
  const plain = expression.replace(/^\(([^()]*)\)$/, '$1');
  if (plain.includes(' OR ') && plain.includes(' AND ')) return false;
  if (plain.includes(' AND ')) {
    return plain.split(' AND ').every((part) => ALLOWED_LICENSES.includes(part));
  }
  return plain.split(' OR ').some((part) => ALLOWED_LICENSES.includes(part));
}
