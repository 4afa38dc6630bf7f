import { globSync } from 'node:fs';
import { join } from 'node:path';
import { MissingServer } from '#deploy/local/install/missing-server';
import { isExecutable, programPath } from '#deploy/local/install/program-path';
import { runProgram } from '#deploy/local/processes/run-program';

/** Required Java version. Cassandra 5.0 runs on Java 11 and 17; our options are for 17. */
const JAVA_MAJOR = 17;

/** Maximum time to print the version, in ms. */
const VERSION_MS_MAX = 30_000;

/**
 * Path of Java 17: from `JAVA_HOME`, `PATH`, or the system's folders. Throws `MissingServer` with a
 * list of the versions found.
 */
export async function findJava(): Promise<string> {
  const home = process.env['JAVA_HOME'] ?? '';
  const found = [
    home === '' ? undefined : join(home, 'bin/java'),
    programPath('java'),
    ...globSync(`/usr/lib/jvm/*${JAVA_MAJOR}*/bin/java`).sort(),
  ].filter((file) => file !== undefined);
  const complaints: string[] = [];
  for (const file of new Set(found)) {
    const complaint = await complaintAbout(file);
    if (complaint === undefined) return file;
    complaints.push(complaint);
  }
  const seen = complaints.length === 0 ? 'which was not found' : complaints.join(', ');
  throw new MissingServer(
    `Cassandra needs Java ${JAVA_MAJOR} (${seen}): install openjdk-${JAVA_MAJOR}-jre-headless or set JAVA_HOME`,
  );
}

async function complaintAbout(file: string): Promise<string | undefined> {
  if (!isExecutable(file)) return `${file} is not executable`;
  const { isOk, output } = await runProgram({
    program: file,
    args: ['-version'],
    msMax: VERSION_MS_MAX,
  });
  const major = /version "(\d+)/.exec(output)?.[1];
  if (!isOk || major === undefined) return `${file} does not run`;
  return Number(major) === JAVA_MAJOR ? undefined : `${file} is version ${major}`;
}
