import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'cassandra-driver';
import * as assert from 'uvu/assert';
import { cassandraVersionAt } from '#deploy/local/servers/cassandra-answer';
import { startCassandra } from '#deploy/local/servers/cassandra-server';
import { cassandraOrSkip } from '#test/support/servers/real-servers';

const { address, suite } = cassandraOrSkip();

const local = suite('a local Cassandra server');

local('has a version of the tested series', async () => {
  assert.match(await cassandraVersionAt(address), /^5\.0\./);
});

local('has the settings required for safety', async () => {
  const client = new Client({ contactPoints: [address], localDataCenter: 'datacenter1' });
  try {
    const { rows } = await client.execute('SELECT name, value FROM system_views.settings');
    const values = new Map(rows.map(({ name, value }) => [name, value]));
    assert.is(values.get('paxos_variant'), 'v2');
    assert.is(values.get('commitlog_sync'), 'batch');
    assert.is(values.get('auto_snapshot'), 'false');
  } finally {
    await client.shutdown();
  }
});

local('reports an invalid setting with the reason from its log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-server-'));
  try {
    await startCassandra({ folder, logFolder: folder, settings: { commitlog_sync: 'perhaps' } });
    assert.unreachable('the server started');
  } catch (error) {
    assert.match((error as Error).message, /^cassandra ended while starting, with \d+\n/);
    assert.match((error as Error).message, /perhaps/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

local.run();
