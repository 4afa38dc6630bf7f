import { createHash } from 'node:crypto';
import { cp, glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { installOnce } from '#deploy/local/install/install-once';
import { findJava } from '#deploy/local/install/java';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** Sources of the program. */
const SOURCES = 'bench/references/pekko';

/** Maximum build time in ms, including 60 MB of libraries over a slow line. */
const BUILD_MS_MAX = 900_000;

/** Heap in MiB, allocated at the start like Cassandra's heap. */
const HEAP_MB = 1_024;

/** Main class of the program. */
const MAIN_CLASS = 'reference.Main';

/**
 * Command of reference (pekko). Maven builds the program into the cache once per version of its
 * sources. Throws `MissingServer` without Maven or Java 17.
 */
export async function pekkoCommand(print: Print) {
  const java = await findJava();
  const folder = await installOnce(`pekko-${await digestOfSources()}`, (target) =>
    build(target, java, print),
  );
  const classPath = [join(folder, 'target/classes'), join(folder, 'target/lib/*')].join(':');
  const heap = [`-Xms${HEAP_MB}m`, `-Xmx${HEAP_MB}m`, '-XX:+UseParallelGC'];
  return { name: 'pekko', program: java, args: [...heap, '-cp', classPath, MAIN_CLASS] };
}

async function build(folder: string, java: string, print: Print): Promise<void> {
  const maven = programPath('mvn');
  if (maven === undefined) {
    throw new MissingServer('(pekko) needs Maven: run apt-get install maven');
  }
  await cp(SOURCES, folder, { recursive: true });
  const command = {
    program: maven,
    args: ['-B', '-q', '-f', join(folder, 'pom.xml'), 'package'],
    env: { JAVA_HOME: dirname(dirname(java)) },
    msMax: BUILD_MS_MAX,
  };
  const { isOk, output } = await withProgress(print, 'pekko: building with Maven', () =>
    runProgram(command),
  );
  if (isOk) return;
  const cause = /^\[ERROR\] (.+)$/m.exec(output)?.[1] ?? lastLine(output);
  throw new MissingServer(`(pekko) could not be built: ${cause}`);
}

async function digestOfSources(): Promise<string> {
  const files = await Array.fromAsync(glob(`${SOURCES}/**/*.{java,conf,xml}`));
  const digest = createHash('sha256');
  for (const file of files.sort()) digest.update(file).update(await readFile(file));
  return digest.digest('hex').slice(0, 12);
}
