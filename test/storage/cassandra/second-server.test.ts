import { Client, errors, type QueryOptions, type types } from 'cassandra-driver';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import { driverPolicies } from '#storage/cassandra/driver';
import {
  CassandraSession,
  type ObserveStatement,
  type StatementOptions,
} from '#storage/cassandra/session';

/** A session whose driver records how statements would be sent. */
function notingSession() {
  const sent: (QueryOptions | undefined)[] = [];
  const note = async (options: QueryOptions | undefined) => {
    sent.push(options);
    return {} as types.ResultSet;
  };
  const client = Object.assign(
    new Client({ contactPoints: ['127.0.0.1'], localDataCenter: 'datacenter1' }),
    {
      execute: (_query: string, _params: unknown, options?: QueryOptions) => note(options),
      batch: (_queries: unknown, options?: QueryOptions) => note(options),
    },
  );
  return { session: new CassandraSession(client, { clock: systemClock }), sent };
}

const slow = suite('after a tenth of a second without an answer, a statement');

for (const [kind, isRepeated] of [
  ['read', true],
  ['serial_read', true],
  ['write', true],
  ['conditional', false],
  ['schema', false],
] as const) {
  slow(
    `of kind ${kind} is ${isRepeated ? 'sent to a second server' : 'left with the first'}`,
    async () => {
      const { session, sent } = notingSession();
      const options: StatementOptions = { kind, operation: 'test' };
      await session.execute('', [], options);
      await session.batch([], options);
      // The driver only repeats idempotent statements.
      assert.equal(
        sent.map((each) => each?.isIdempotent),
        [isRepeated, isRepeated],
      );
    },
  );
}

/** Operation and second-server reason that are observed for an answer with this execution info. */
async function heardOf(info: Partial<types.ResultSet['info']>) {
  const heard: unknown[] = [];
  const client = Object.assign(
    new Client({ contactPoints: ['127.0.0.1'], localDataCenter: 'datacenter1' }),
    { execute: async () => ({ info }) },
  );
  const observe: ObserveStatement = (...[operation, , , secondServer]) =>
    heard.push([operation, secondServer]);
  const session = new CassandraSession(client, { clock: systemClock, observe });
  await session.execute('', [], { kind: 'read', operation: 'test' });
  return heard;
}

const timedOut = new errors.OperationTimedOutError('no answer');
const busy = new errors.BusyConnectionError('127.0.0.1', 1, 1);

slow('is counted, by the reason why the first server failed', async () => {
  const servers = { '127.0.0.1': null, '127.0.0.2': null };
  assert.equal(await heardOf({ speculativeExecutions: 1, triedHosts: servers }), [
    ['test', 'slow'],
  ]);
  const failed = { '127.0.0.1': timedOut, '127.0.0.2': null };
  assert.equal(await heardOf({ speculativeExecutions: 0, triedHosts: failed }), [
    ['test', 'error'],
  ]);
});

slow('is not counted if other servers were only skipped, or do not exist', async () => {
  for (const triedHosts of [
    { '127.0.0.1': null },
    { '127.0.0.1': timedOut },
    { '127.0.0.1': 'Host considered as DOWN', '127.0.0.2': null },
    { '127.0.0.1': busy, '127.0.0.2': null },
  ]) {
    assert.equal(await heardOf({ speculativeExecutions: 0, triedHosts }), [['test', undefined]]);
  }
});

slow('is repeated only once', () => {
  const plan = driverPolicies('datacenter1').speculativeExecution?.newPlan('', '');
  assert.equal([plan?.nextExecution(), plan?.nextExecution()], [100, -1]);
});

slow.run();
