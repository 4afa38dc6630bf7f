import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Start } from '#deploy/image/containerfile';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { outputOf } from '#deploy/local/processes/run-program';

/** Processor architectures of the image, with the names that OCI and Debian use. */
export const ARCHITECTURES = ['amd64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** Architecture of this machine. */
export const OWN_ARCHITECTURE: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** Maximum time to compress the layer, in ms. Usually 20 s. */
const LAYER_MS_MAX = 600_000;

/** Name of the image inside the layout's folder. */
const TAG = 'image';

/** An image: root file system, start configuration, and complete name with registry and tag. */
export type Image = {
  readonly root: string;
  readonly start: Start;
  readonly name: string;
  readonly architecture: Architecture;
};

/**
 * Writes an image as OCI archive, without a daemon. `ctr images import`, `podman load` and
 * `docker load` accept the file. Throws `MissingServer` without umoci.
 */
export async function writeOciArchive(image: Image, file: string): Promise<void> {
  const umoci = programPath('umoci');
  if (umoci === undefined) throw new MissingServer('umoci is missing: apt-get install umoci');
  const layout = `${file}.layout`;
  await mkdir(dirname(file), { recursive: true });
  await rm(layout, { recursive: true, force: true });
  try {
    const run = (...args: readonly string[]) =>
      outputOf({ program: umoci, args, msMax: LAYER_MS_MAX });
    const tagged = `${layout}:${TAG}`;
    await run('init', '--layout', layout);
    await run('new', '--image', tagged);
    await run('insert', ...ownedByRoot(), '--image', tagged, image.root, '/');
    await run('config', '--image', tagged, ...configArguments(image));
    await run('gc', '--layout', layout);
    await nameImage(layout, image.name);
    const packed = ['-C', layout, '-cf', `${file}.part`, '.'];
    await outputOf({ program: 'tar', args: packed, msMax: LAYER_MS_MAX });
    await rename(`${file}.part`, file);
  } finally {
    await rm(layout, { recursive: true, force: true });
  }
}

/** Arguments with which all files of the image belong to root, also if this user is not root. */
function ownedByRoot(): string[] {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if (uid === 0) return [];
  return ['--rootless', '--uid-map', `0:${uid}:1`, '--gid-map', `0:${gid}:1`];
}

function configArguments({ start, architecture }: Image): string[] {
  const { user, folder, variables, entrypoint, command } = start;
  const each = (option: string, values: readonly string[]) =>
    values.flatMap((value) => [`--config.${option}`, value]);
  return [
    ...['--os', 'linux', '--architecture', architecture],
    ...each('user', user === '' ? [] : [user]),
    ...each('workingdir', folder === '' ? [] : [folder]),
    ...each(
      'env',
      Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ),
    ...each('entrypoint', entrypoint),
    ...each('cmd', command),
  ];
}

/** Writes the complete name into the layout. Without the name, importing programs invent one. */
async function nameImage(layout: string, name: string): Promise<void> {
  const file = join(layout, 'index.json');
  const index = JSON.parse(await readFile(file, 'utf8'));
  for (const manifest of index.manifests) {
    manifest.annotations = {
      'io.containerd.image.name': name,
      'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
    };
  }
  await writeFile(file, JSON.stringify(index));
}
