import { readFileSync } from 'node:fs';

/** A package in the lockfile, with its licence. */
export type LockedPackage = {
  readonly name: string;
  readonly version: string;
  /** Licence field of the package, usually an SPDX expression; undefined if missing. */
  readonly license: string | undefined;
};

type Entry = {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
};

/** All packages in the image: no development tools, no Node binaries. */
export function shippedPackages(): readonly LockedPackage[] {
  return shippedEntries().map(([path, { version, license }]) => {
    return { name: path.slice(path.lastIndexOf('node_modules/') + 13), version, license };
  });
}

/** Folders where npm installs the image's packages (`node_modules/…`). */
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
