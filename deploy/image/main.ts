import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  ARCHITECTURES,
  type Architecture,
  OWN_ARCHITECTURE,
  writeOciArchive,
} from '#deploy/image/oci-archive';
import { makeRootFileSystem } from '#deploy/image/root-file-system';
import { MissingServer } from '#deploy/local/install/missing-server';
import { withProgress } from '#deploy/local/progress';

/*
 * Builds the image of the service as OCI archive, without Docker.
 *
 * Usage: node deploy/image/main.ts [--architecture amd64|arm64] [--name NAME] [--file FILE]
 */

const { values } = parseArgs({
  options: {
    architecture: { type: 'string', default: OWN_ARCHITECTURE },
    /** Complete name with registry and tag. */
    name: { type: 'string', default: 'localhost/identity-engine:local' },
    file: { type: 'string' },
  },
});

process.exitCode = await run();

async function run(): Promise<number> {
  const architecture = ARCHITECTURES.find((known) => known === values.architecture);
  if (architecture === undefined) {
    console.error(`--architecture takes ${ARCHITECTURES.join(' or ')}`);
    return 2;
  }
  const file = values.file ?? `build/image/identity-engine-${architecture}.tar`;
  try {
    await withProgress(console.log, `building ${file}`, () => build(architecture, file));
  } catch (error) {
    if (!(error instanceof MissingServer)) throw error;
    console.error(error.message);
    return 2;
  }
  console.log(`Built ${values.name} for ${architecture}. Next:`);
  console.log(`  podman load --input ${file}     (or docker load, ctr images import)`);
  return 0;
}

async function build(architecture: Architecture, file: string): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'identity-engine-image-'));
  try {
    const start = await makeRootFileSystem(root, architecture);
    await writeOciArchive({ root, start, name: values.name, architecture }, file);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
