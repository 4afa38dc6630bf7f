import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openMigratedKeyspace } from '#test/storage/cassandra/migrated-keyspace';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

/** Maximum modules on the path in one process. */
const ALONE_MAX = 49;
/** Maximum modules on the path in a cluster. */
const CLUSTER_MAX = 65;

/** Maximum duration of a measurement in milliseconds, including a cluster start. */
const RUN_MS_MAX = 60_000;

const TEXT = readFileSync('docs/architecture.md', 'utf8');
const [, chapter = ''] = TEXT.split('### Path of an observation');
const [alone = '', added = ''] = (chapter.split('Every refusal is')[0] ?? '').split('A cluster on');

/** Modules in the second column of the tables. */
const modulesIn = (text: string): string[] =>
  [...text.matchAll(/^\| [A-Z]\w+ \| (.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, module = '']) => module),
  );

const ALONE = modulesIn(alone);

function measured(...args: readonly string[]): string[] {
  const argv = ['test/architecture/modules-of-a-call.ts', ...args];
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  const out = execFileSync(process.execPath, argv, { timeout: RUN_MS_MAX, stdio: [...stdio] });
  const files: string[] = JSON.parse(out.toString().trimEnd().split('\n').at(-1) ?? '');
  return files.map((file) => file.replace(/^[a-z-]+\//, '').replace(/\.ts$/, ''));
}

const path = suite('the path of an observation');

path('in one process is documented and short', () => {
  assert.equal(ALONE.toSorted(), measured('memory').toSorted());
  assert.ok(ALONE.length <= ALONE_MAX, `${ALONE.length}`);
});

path.run();

const cassandra = cassandraOrSkip();
const nats = natsOrSkip();
const cluster = nats.suite('the path of an observation in a cluster');
if (cassandra.address !== '') {
  cluster('is documented and short', async () => {
    await using keyspace = await openMigratedKeyspace(cassandra.address);
    const variables = {
      SERVICE_STORAGE: 'cassandra',
      SERVICE_CASSANDRA_CONTACT_POINTS: cassandra.address,
      SERVICE_CASSANDRA_KEYSPACE: keyspace.name,
      SERVICE_NATS_URL: nats.address,
      SERVICE_NATS_PREFIX: keyspace.name,
      SERVICE_CLUSTER_SECRET: 'the secret of all tests',
      SERVICE_SHARDS: '8',
    };
    const inCluster = [...ALONE.filter((module) => !module.startsWith('storage/memory/'))];
    const documented = [...inCluster, ...modulesIn(added)].toSorted();
    assert.equal(documented, measured('cluster', JSON.stringify(variables)).toSorted());
    assert.ok(documented.length <= CLUSTER_MAX, `${documented.length}`);
  });
}
cluster.run();
