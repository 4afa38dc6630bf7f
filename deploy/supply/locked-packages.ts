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

/** Lockfile of the MCP server, whose packages users install. */
export const MCP_LOCKFILE = 'clients/mcp/package-lock.json';

/**
 * All packages of a lockfile that users get: no development tools, no Node binaries. Default: the
 * packages in the image.
 */
export function shippedPackages(lockfile = 'package-lock.json'): readonly LockedPackage[] {
  return shippedEntries(lockfile).map(([path, { version, license }]) => {
    return { name: path.slice(path.lastIndexOf('node_modules/') + 13), version, license };
  });
}

/** Folders where npm installs the image's packages (`node_modules/…`). */
export function shippedFolders(): readonly string[] {
  return shippedEntries('package-lock.json').map(([path]) => path);
}

function shippedEntries(lockfile: string): readonly (readonly [string, Entry])[] {
  const { packages } = JSON.parse(readFileSync(lockfile, 'utf8')) as {
    packages: Readonly<Record<string, Entry>>;
  };
  return Object.entries(packages).filter(([path, { dev, optional, devOptional }]) => {
    return path !== '' && !dev && !optional && !devOptional;
  });
}
