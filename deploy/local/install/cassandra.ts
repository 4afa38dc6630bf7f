import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { installOnce } from '#deploy/local/install/install-once';
import { findJava } from '#deploy/local/install/java';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** Version to fetch. Tests run with this version. */
const VERSION = '5.0.6';

/** Versions accepted from `PATH`: our settings are valid for this series. */
const SERIES = /^5\.0\./;

const COPY_GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/** Approximate number of libraries, for progress lines only. */
const LIBRARY_COUNT = 100;

/** Maximum download time in milliseconds, for 66 MB of libraries over a slow line. */
const FETCH_MS_MAX = 900_000;

/** Parts needed to run Cassandra. */
export type CassandraProgram = {
  readonly java: string;
  readonly version: string;
  /** Folders with Cassandra's libraries. */
  readonly libraries: readonly string[];
};

/** Cassandra 5.0: from `PATH`, or from the cache, fetched by Maven. Throws `MissingServer`. */
export async function installedCassandra(print: Print): Promise<CassandraProgram> {
  const java = await findJava();
  const own = cassandraOnPath();
  if (own !== undefined && SERIES.test(own.version)) return { java, ...own };
  if (own !== undefined) {
    print(`cassandra: ${own.version} on PATH is not 5.0; fetching ${VERSION} with Maven`);
  }
  const folder = await installOnce(`cassandra-${VERSION}`, (target) => fetch(target, java, print));
  return { java, version: VERSION, libraries: [join(folder, 'lib')] };
}

/**
 * Finds Cassandra on `PATH`. Cassandra's archive and Debian's package have different library
 * folders.
 */
function cassandraOnPath(): Omit<CassandraProgram, 'java'> | undefined {
  const program = programPath('cassandra');
  if (program === undefined) return undefined;
  const home = dirname(dirname(realpathSync(program)));
  const folders = [
    join(home, 'lib'),
    join(home, 'share/cassandra/lib'),
    join(home, 'share/cassandra'),
  ];
  const libraries = folders.filter((folder) => existsSync(folder));
  const version = libraries
    .flatMap((folder) => readdirSync(folder))
    .map((file) => /^apache-cassandra-(\d+\.\d+\.[\w.-]+)\.jar$/.exec(file)?.[1])
    .find((found) => found !== undefined);
  return version === undefined ? undefined : { version, libraries };
}

async function fetch(folder: string, java: string, print: Print): Promise<void> {
  const maven = programPath('mvn');
  if (maven === undefined) {
    throw new MissingServer(
      `Cassandra is missing: install Maven (apt-get install maven), or put Cassandra 5.0 on PATH`,
    );
  }
  const pom = join(folder, 'pom.xml');
  const library = join(folder, 'lib');
  await writeFile(pom, POM);
  let fetched = 0;
  const run = () =>
    runProgram({
      program: maven,
      args: ['-B', '-f', pom, COPY_GOAL, `-DoutputDirectory=${library}`, '-DincludeScope=runtime'],
      env: { JAVA_HOME: dirname(dirname(java)) },
      msMax: FETCH_MS_MAX,
      onOutput: (text) => {
        fetched += text.match(/^Downloaded from .*\.jar /gm)?.length ?? 0;
      },
    });
  const { isOk, output } = await withProgress(
    print,
    `cassandra: fetching ${VERSION} by Maven (66 MB)`,
    run,
    () => `${fetched} of about ${LIBRARY_COUNT} libraries`,
  );
  if (!isOk) throw new MissingServer(`Cassandra could not be fetched: ${mavenError(output)}`);
  if (!existsSync(join(library, `cassandra-all-${VERSION}.jar`))) {
    throw new MissingServer(`Maven downloaded no Cassandra ${VERSION}`);
  }
}

/** Maven's first error line, which has the cause; its last lines contain advice. */
function mavenError(output: string): string {
  return /^\[ERROR\] (.+)$/m.exec(output)?.[1] ?? lastLine(output);
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>identity-engine</groupId>
  <artifactId>local-cassandra</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>${VERSION}</version>
    </dependency>
  </dependencies>
</project>
`;
