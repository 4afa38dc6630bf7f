import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import { openSession } from '#storage/cassandra/session';
import { cassandraServerClocks } from '#storage/cassandra/shards';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { refusalOf } from '#test/support/settled';

const { address, suite } = cassandraOrSkip();

const session = async () =>
  await openSession({
    contactPoints: [address],
    localDataCenter: 'datacenter1',
    keyspace: undefined,
    clock: systemClock,
  });

const shown = suite('the clocks of the Cassandra servers');

shown('equal the clock of this machine if the servers run on this machine', async () => {
  await using opened = await session();
  const clocks = cassandraServerClocks(opened);
  const beforeMs = Date.now();
  const read = await clocks.read();
  const afterMs = Date.now();
  assert.is(read.length, 1);
  for (const shownMs of read) {
    assert.ok(shownMs >= beforeMs - 1 && shownMs <= afterMs + 1, `${shownMs - beforeMs} ms off`);
  }
});

shown('are not available from a closed session', async () => {
  const closed = await session();
  await closed[Symbol.asyncDispose]();
  assert.match(String(await refusalOf(() => cassandraServerClocks(closed).read())), /Fault|Error/);
});

shown.run();
