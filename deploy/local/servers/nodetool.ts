import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedCassandra } from '#deploy/local/install/cassandra';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { printNothing } from '#deploy/local/progress';
import { JAVA_ACCESS } from '#deploy/local/servers/cassandra-options';

/** Maximum run time, in ms. A snapshot first flushes every table. */
const RUN_MS_MAX = 120_000;

/** JVM arguments. `user.home` redirects nodetool's command history. */
const JAVA = ['-Xmx128m', `-Duser.home=${tmpdir()}`, ...JAVA_ACCESS];

/**
 * Runs Cassandra's `nodetool` on the server with this JMX port. Throws with nodetool's error.
 * Separate from cassandra-server.ts, because only backups need nodetool.
 */
export async function runNodetool(jmxPort: number, ...args: readonly string[]): Promise<string> {
  const { java, libraries } = await installedCassandra(printNothing);
  const classPath = libraries.map((path) => join(path, '*')).join(':');
  const main = 'org.apache.cassandra.tools.NodeTool';
  const { isOk, output } = await runProgram({
    program: java,
    args: [...JAVA, '-cp', classPath, main, '-p', `${jmxPort}`, ...args],
    msMax: RUN_MS_MAX,
  });
  if (!isOk) {
    const said = /^(?:error|nodetool): .*$/m.exec(output)?.[0] ?? lastLine(output);
    throw new Error(`nodetool ${args.join(' ')}: ${said}`);
  }
  return output;
}
