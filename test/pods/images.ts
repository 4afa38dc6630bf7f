import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Start } from '#deploy/image/containerfile';
import { OWN_ARCHITECTURE, writeOciArchive } from '#deploy/image/oci-archive';
import { makeRootFileSystem } from '#deploy/image/root-file-system';
import { installedCassandra } from '#deploy/local/install/cassandra';
import { goProgram } from '#deploy/local/install/go-program';
import { KUBERNETES } from '#deploy/local/install/kubernetes';
import type { NodePrograms } from '#deploy/local/install/kubernetes-node';
import { installedNats } from '#deploy/local/install/nats';
import { outputOf } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';
import { javaOptions } from '#deploy/local/servers/cassandra-options';
import { PAUSE_IMAGE } from '#test/pods/node';
import { neededProgram } from '#test/pods/requirements';

/*
 * Images of all pods, built on this machine without a daemon and without a registry.
 */

/** Name of the service's image, which the overlay uses. */
const SERVICE_IMAGE = 'localhost/identity-engine:1';

/** Second name of the same image, for updates. */
export const NEXT_IMAGE = 'localhost/identity-engine:2';

/** Maximum time to compile or copy a program, in ms. */
const BUILD_MS_MAX = 300_000;

/** Folder with `cassandra.yaml` and `logback.xml` in the pod of Cassandra. */
const CASSANDRA_SETTINGS = '/etc/cassandra';

const CASSANDRA_HEAP_MIB = 768;

/** Start configuration of a program without variables. */
const BARE: Start = { folder: '/', user: '1000:1000', variables: {}, entrypoint: [], command: [] };

/** Builds all images into a folder. Returns the archives. */
export async function buildImages(
  programs: NodePrograms,
  folder: string,
  print: Print,
): Promise<readonly string[]> {
  const build = async (fill: (root: string) => Promise<Start>, ...names: readonly string[]) => {
    const what = `building the image ${names.join(' and ')}`;
    return await withProgress(print, what, () => buildImage(names, fill, folder));
  };
  await mkdir(folder, { recursive: true });
  const archives = [
    await build((root) => fillWithPause(root, print), PAUSE_IMAGE),
    await build((root) => fillWithProgram(root, programs.coredns), 'localhost/coredns:1'),
    await build(
      async (root) => fillWithProgram(root, await installedNats(print)),
      'localhost/nats:1',
    ),
    await build((root) => fillWithProgram(root, neededProgram('haproxy')), 'localhost/haproxy:1'),
    await build((root) => fillWithCassandra(root, print), 'localhost/cassandra:1'),
    await build(makeRootFileSystem, SERVICE_IMAGE, NEXT_IMAGE),
  ];
  return archives.flat();
}

/** Builds one image with several names. Returns an archive for each name. */
async function buildImage(
  names: readonly string[],
  fill: (root: string) => Promise<Start>,
  folder: string,
): Promise<readonly string[]> {
  const root = await mkdtemp(join(folder, 'root-'));
  // Users of containers may read the root folder.
  await chmod(root, 0o755);
  const start = await fill(root);
  const files: string[] = [];
  for (const name of names) {
    const file = join(folder, `${name.replaceAll(/[^a-z0-9]+/g, '-')}.tar`);
    await writeOciArchive({ root, start, name, architecture: OWN_ARCHITECTURE }, file);
    files.push(file);
  }
  await rm(root, { recursive: true, force: true });
  return files;
}

/** Kubernetes' own pause program, compiled from its module. */
async function fillWithPause(root: string, print: Print): Promise<Start> {
  const module = `${KUBERNETES.path}@${KUBERNETES.version}`;
  const go = await goProgram('pause', print);
  const args = ['mod', 'download', '-json', module];
  const answer = await outputOf({ program: go, args, msMax: BUILD_MS_MAX });
  const { Dir } = JSON.parse(answer.slice(answer.indexOf('{'))) as { readonly Dir: string };
  const source = join(Dir, 'build/pause/linux/pause.c');
  const compiled = ['-Os', '-static', '-DVERSION=1', '-o', join(root, 'pause'), source];
  await outputOf({ program: 'gcc', args: compiled, msMax: BUILD_MS_MAX });
  return { ...BARE, user: '65535:65535', entrypoint: ['/pause'] };
}

/** A program of this machine with its libraries. */
async function fillWithProgram(root: string, program: string): Promise<Start> {
  await collect(root, program);
  return { ...BARE, entrypoint: [program] };
}

/**
 * Cassandra and Java of this machine. The pod has the settings in `CASSANDRA_SETTINGS`, and adds
 * its own address to the command.
 */
async function fillWithCassandra(root: string, print: Print): Promise<Start> {
  const { java, libraries } = await installedCassandra(print);
  const home = dirname(dirname(await realpath(java)));
  const parts = ['bin/java', 'lib', 'conf'].map((part) => join(home, part));
  // Cassandra asks uname for the kernel's version.
  await collect(root, ...parts, ...libraries, '/usr/bin/uname');
  const [settings, data] = [CASSANDRA_SETTINGS, '/var/lib/cassandra'];
  const options = javaOptions({
    ...{ yaml: join(settings, 'cassandra.yaml'), logback: join(settings, 'logback.xml') },
    ...{ state: data, heapMb: CASSANDRA_HEAP_MIB, isOneOfSeveral: false, isThrownAway: false },
  });
  // The settings folder has the data center and rack.
  const classPath = [settings, ...libraries.map((library) => join(library, '*'))].join(':');
  const entrypoint = [join(home, 'bin/java'), ...options, '-cp', classPath];
  return { ...BARE, entrypoint, command: ['org.apache.cassandra.service.CassandraDaemon'] };
}

async function collect(root: string, ...paths: readonly string[]): Promise<void> {
  const args = ['test/pods/collect-programs.sh', root, ...paths];
  await outputOf({ program: 'bash', args, msMax: BUILD_MS_MAX });
}
