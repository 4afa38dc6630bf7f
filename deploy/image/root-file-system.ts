import { chmod, cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { buildPages } from '#deploy/console/build-pages';
import { type Stage, type Start, stagesOf, startOf } from '#deploy/image/containerfile';
import { type Architecture, OWN_ARCHITECTURE } from '#deploy/image/oci-archive';
import { fetchOtherSystem } from '#deploy/image/other-system';
import { outputOf } from '#deploy/local/processes/run-program';
import { shippedFolders } from '#deploy/supply/locked-packages';

/*
 * Builds the image's root file system on this machine without a container builder, from the same
 * Containerfile. Copies the files of `COPY`. Builds the outputs of earlier stages with the same
 * script or lockfile.
 */

/** Maximum time to collect the runtime's libraries, in milliseconds. */
const COLLECT_MS_MAX = 60_000;

/** A COPY instruction. */
type Copy = { readonly from: string; readonly sources: readonly string[]; readonly target: string };

/**
 * Builds the image's root file system in an empty folder. For this machine's architecture, uses the
 * Node binary of this process; for others, fetches Node and its libraries. Returns a container's
 * start configuration. Throws for an unknown instruction.
 */
export async function makeRootFileSystem(
  root: string,
  architecture: Architecture = OWN_ARCHITECTURE,
): Promise<Start> {
  // The user of a container must be able to read the root folder.
  await chmod(root, 0o755);
  const stages = stagesOf(await readFile('deploy/Containerfile', 'utf8'));
  const image = stages.at(-1);
  if (image?.base !== 'scratch')
    throw new Error('deploy/Containerfile: the last stage must start FROM scratch');
  const sent = sentToBuilder(await readFile('deploy/Containerfile.dockerignore', 'utf8'));
  let folder = '/';
  for (const { word, rest } of image.instructions) {
    if (word === 'WORKDIR') folder = rest;
    if (word !== 'COPY') continue;
    const copy = copyOf(rest, folder);
    const target = join(root, copy.target);
    if (copy.from === '') await copyFiles(copy.sources, target, sent);
    else await copyFromStage(stages, copy, target, architecture);
  }
  return startOf(image);
}

function copyOf(rest: string, folder: string): Copy {
  const words = rest.split(/ +/);
  const from = /^--from=(.*)$/.exec(words[0] ?? '')?.[1];
  const paths = from === undefined ? words : words.slice(1);
  const target = paths.at(-1) ?? '';
  const isFolder = target.endsWith('/');
  const sources = paths.slice(0, -1);
  const path = resolve(folder, target);
  // A file copied into a folder keeps its name; a folder's contents are copied directly.
  const isFile = from === undefined && isFolder;
  return {
    from: from ?? '',
    sources,
    target: isFile ? join(path, basename(sources[0] ?? '')) : path,
  };
}

/** Returns a filter for files that reach the builder, from an ignore file that is an allow list. */
function sentToBuilder(ignored: string): (path: string) => boolean {
  const lines = ignored.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  if (lines[0] !== '*') throw new Error('deploy/Containerfile.dockerignore must start with *');
  const allowed = lines.slice(1).map((line) => line.replace(/^!/, ''));
  return (path) => allowed.some((each) => path === each || path.startsWith(`${each}/`));
}

async function copyFiles(
  sources: readonly string[],
  target: string,
  sent: (path: string) => boolean,
): Promise<void> {
  for (const source of sources) {
    if (!sent(source)) throw new Error(`${source} is missing in deploy/Containerfile.dockerignore`);
    await cp(source, target, { recursive: true });
  }
}

async function copyFromStage(
  stages: readonly Stage[],
  { from, sources }: Copy,
  target: string,
  architecture: Architecture,
): Promise<void> {
  const runs = stages
    .find(({ name }) => name === from)
    ?.instructions.filter(({ word }) => word === 'RUN')
    .map(({ rest }) => rest);
  const made = runs?.at(-1) ?? '';
  const built = /^node deploy\/console\/main\.ts (\S+)$/.exec(made)?.[1];
  if (built !== undefined && built === sources[0]) return await buildPages(target);
  if (runs?.length !== 1) throw new Error(`stage ${from} must have a single RUN: ${made}`);
  if (/^npm ci .*--omit=dev --omit=optional /.test(made)) return await copyPackages(target);
  const [, script, folder] = /^sh (collect-runtime\.sh) (\S+)$/.exec(made) ?? [];
  if (script === undefined || folder !== sources[0])
    throw new Error(`stage ${from} has an unknown RUN: ${made}`);
  if (architecture === OWN_ARCHITECTURE) return await collectRuntime(target, process.execPath);
  const fetched = await mkdtemp(join(tmpdir(), 'identity-engine-system-'));
  try {
    const { node, root, libraries } = await fetchOtherSystem(architecture, fetched);
    await collectRuntime(target, node, root, ...libraries);
  } finally {
    await rm(fetched, { recursive: true });
  }
}

async function collectRuntime(...args: readonly string[]): Promise<void> {
  const script = 'deploy/image/collect-runtime.sh';
  await outputOf({ program: 'sh', args: [script, ...args], msMax: COLLECT_MS_MAX });
}

/** Copies the installed packages that `npm ci --omit=dev --omit=optional` would install. */
async function copyPackages(target: string): Promise<void> {
  for (const folder of shippedFolders()) {
    const own = join(folder, 'node_modules');
    const copied = join(target, folder.slice('node_modules/'.length));
    await mkdir(copied, { recursive: true });
    // Nested packages have their own lines in the lockfile.
    await cp(folder, copied, { recursive: true, filter: (path) => path !== own });
  }
}
