import { readFileSync } from 'node:fs';

/** A package of the lockfile, as far as its origin and licence go. */
export type LockedPackage = {
  readonly name: string;
  readonly version: string;
  /** As the package itself names it, usually an SPDX expression; undefined where it does not. */
  readonly license: string | undefined;
};

type Entry = {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
};

/** Every package that the image contains: neither tools nor the binaries of Node itself. */
export function shippedPackages(): readonly LockedPackage[] {
  return shippedEntries().map(([path, { version, license }]) => {
    return { name: path.slice(path.lastIndexOf('node_modules/') + 13), version, license };
  });
}

/** The folders of those packages, as npm installs them (`node_modules/…`). */
export function shippedFolders(): readonly string[] {
  return shippedEntries().map(([path]) => path);
}

function shippedEntries(): readonly (readonly [string, Entry])[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Readonly<Record<string, Entry>>;
  };
  return Object.entries(packages).filter(([path, { dev, optional, devOptional }]) => {
    return path !== '' && !dev && !optional && !devOptional;
  });
}
