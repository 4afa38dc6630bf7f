import { setTimeout as delay } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Fault } from '#errors/fault';
import { systemClock } from '#stdlib/clock';
import {
  type CassandraSession,
  openSession,
  type StatementOptions,
} from '#storage/cassandra/session';
import { type FaultyLink, openFaultyLink } from '#test/storage/cassandra/faulty-link';
import {
  DATA_CENTER,
  type MigratedKeyspace,
  openEmptyKeyspace,
  sessionIn,
} from '#test/storage/cassandra/migrated-keyspace';
import { changeSchema } from '#test/storage/cassandra/scratch-keyspace';
import { cassandraOrSkip } from '#test/support/servers/real-servers';
import { faultIn } from '#test/support/settled';

const { address, suite } = cassandraOrSkip();

const read: StatementOptions = { kind: 'read', operation: 'test_read', timeoutMs: 300 };
const write: StatementOptions = { kind: 'write', operation: 'test_write', timeoutMs: 300 };
const conditional: StatementOptions = { ...write, kind: 'conditional' };

const READ = 'SELECT value FROM facts WHERE name = ?';
const WRITE = 'INSERT INTO facts (name, value) VALUES (?, ?) USING TIMESTAMP 5';
const INSERT_ONCE = 'INSERT INTO facts (name, value) VALUES (?, ?) IF NOT EXISTS';

let opened: Promise<MigratedKeyspace> | undefined;

async function openWithTables(): Promise<MigratedKeyspace> {
  const keyspace = await openEmptyKeyspace(address);
  const create = (table: string) => changeSchema(keyspace.session, `CREATE TABLE ${table}`);
  await create('facts (name text PRIMARY KEY, value bigint)');
  await create('blobs (name text PRIMARY KEY, value blob)');
  return keyspace;
}

type Scene = {
  readonly link: FaultyLink;
  /** Session through the link. */
  readonly session: CassandraSession;
  /** Session without the link. */
  readonly direct: CassandraSession;
  /** `operation errorType` of every statement through the link. */
  readonly seen: string[];
};

async function inScene(play: (scene: Scene) => Promise<void>): Promise<void> {
  opened ??= openWithTables();
  const { session: direct, name } = await opened;
  await changeSchema(direct, 'TRUNCATE facts');
  await using link = await openFaultyLink(address);
  const seen: string[] = [];
  await using session = await sessionIn(link.address, name, (operation, seconds, errorType) => {
    assert.ok(seconds >= 0 && seconds < 10);
    seen.push(`${operation} ${errorType}`);
  });
  await session.execute(READ, ['prepared'], read);
  await session.execute(WRITE, ['prepared', 1n], write);
  await session.execute(INSERT_ONCE, ['prepared', 1n], conditional);
  seen.length = 0;
  await play({ link, session, direct, seen });
}

async function assertFault(pending: Promise<unknown>, expected: Partial<Fault>): Promise<void> {
  const { code, isOutcomeUnknown } = await faultIn(pending);
  assert.equal({ code, isOutcomeUnknown }, expected);
}

const unknown = { code: 'service_unavailable', isOutcomeUnknown: true } as const;
const notDone = { code: 'service_unavailable', isOutcomeUnknown: false } as const;
const refused = { code: 'internal', isOutcomeUnknown: false } as const;

const silent = suite('a session whose server does not answer');

silent('times out, with an unknown outcome for a write', async () => {
  await inScene(async ({ link, session, direct, seen }) => {
    link.silence();
    const startedMs = performance.now();
    await assertFault(session.execute(INSERT_ONCE, ['a', 7n], conditional), unknown);
    const elapsedMs = performance.now() - startedMs;
    assert.ok(elapsedMs >= 290 && elapsedMs < 1_900, `${elapsedMs} ms`);
    assert.equal(seen, ['test_write timeout']);
    const { rows } = await direct.execute(READ, ['a'], { ...read, kind: 'serial_read' });
    assert.is(rows[0]?.['value'], 7n);
  });
});

silent('times out without effect for a read', async () => {
  await inScene(async ({ link, session }) => {
    link.silence();
    await assertFault(session.execute(READ, ['a'], read), notDone);
  });
});

silent('opens another connection if a connection stays silent', async () => {
  await inScene(async ({ link, session }) => {
    const before = link.connections;
    link.silence();
    for (let attempts = 0; attempts < 6; attempts += 1) {
      await session.execute(INSERT_ONCE, ['a', 1n], conditional).catch(() => {});
    }
    await untilAnswered(session);
    assert.ok(link.connections > before);
  });
});

const broken = suite('a session whose connection breaks');

broken('reports an unknown outcome for a change in flight, without a retry', async () => {
  await inScene(async ({ link, session, seen }) => {
    link.silence();
    const pending = session.execute(INSERT_ONCE, ['a', 7n], { ...conditional, timeoutMs: 5_000 });
    setTimeout(() => link.cut(), 100);
    await assertFault(pending, unknown);
    assert.equal(seen, ['test_write connection']);
  });
});

broken('reports no effect for a change while disconnected', async () => {
  await inScene(async ({ link, session }) => {
    link.setOpen(false);
    link.cut();
    let fault = await faultIn(session.execute(INSERT_ONCE, ['b', 1n], conditional));
    while (fault.isOutcomeUnknown) {
      fault = await faultIn(session.execute(INSERT_ONCE, ['b', 1n], conditional));
    }
    assert.is(fault.code, 'service_unavailable');
    assert.is(fault.retryAfterS, 1);
  });
});

broken('works again soon after the server is back', async () => {
  await inScene(async ({ link, session }) => {
    link.setOpen(false);
    link.cut();
    // Long enough for the first reconnection attempts to fail.
    const downUntilMs = performance.now() + 1_500;
    while (performance.now() < downUntilMs) {
      await faultIn(session.execute(READ, ['a'], read));
      await delay(50);
    }
    link.setOpen(true);
    const startedMs = performance.now();
    await untilAnswered(session);
    const elapsedMs = performance.now() - startedMs;
    assert.ok(elapsedMs < 4_000, `${elapsedMs} ms`);
  });
});

const definite = suite('a session whose server refuses a statement');

definite('reports a wrong statement, a wrong type and a missing table', async () => {
  await inScene(async ({ session, seen }) => {
    await assertFault(session.execute('INSERT INTO', [], write), refused);
    await assertFault(session.execute(WRITE, ['a', 'text'], write), refused);
    await assertFault(session.execute('SELECT a FROM nothing', [], read), refused);
    assert.equal(seen, ['test_write refused', 'test_write refused', 'test_read refused']);
  });
});

definite('reports a batch to several partitions as too large', async () => {
  await inScene(async ({ session, direct }) => {
    const query = 'INSERT INTO blobs (name, value) VALUES (?, ?) USING TIMESTAMP 5';
    const statements = ['a', 'b'].map((name) => ({ query, params: [name, Buffer.alloc(40_000)] }));
    await assertFault(session.batch(statements, write), refused);
    const { rows } = await direct.execute('SELECT name FROM blobs', [], read);
    assert.equal(rows, []);
  });
});

const ends = suite('a session that is closed or was never open');

ends('fails every call after it was closed', async () => {
  await inScene(async ({ link }) => {
    const session = await sessionIn(link.address, undefined);
    await session[Symbol.asyncDispose]();
    const query = 'SELECT cluster_name FROM system.local';
    assert.is((await faultIn(session.execute(query, [], read))).code, 'service_unavailable');
  });
});

ends('reports the addresses if no server answers', async () => {
  const fault = await faultIn(sessionIn('127.0.0.1:9', undefined));
  assert.is(fault.code, 'service_unavailable');
  assert.match(fault.message, /127\.0\.0\.1:9/);
});

ends('rejects an unknown data center and a missing keyspace', async () => {
  await using link = await openFaultyLink(address);
  const options = {
    contactPoints: [link.address],
    localDataCenter: DATA_CENTER,
    keyspace: undefined,
    clock: systemClock,
  };
  const strangeCenter = await faultIn(openSession({ ...options, localDataCenter: 'moon' }));
  assert.is(strangeCenter.code, 'service_unavailable');
  assert.match(String(strangeCenter.cause), /moon/);
  const noKeyspace = await faultIn(openSession({ ...options, keyspace: 'nowhere' }));
  assert.match(String(noKeyspace.cause), /nowhere/);
  // An open connection would keep the rejected process alive.
  assert.is(await link.connectionsLeft(), 0);
});

const reading = suite('a session that reads many rows');

reading('returns each row once, page by page', async () => {
  await inScene(async ({ session }) => {
    const names = Array.from({ length: 25 }, (_, index) => `row ${index}`);
    for (const name of names) await session.execute(WRITE, [name, 1n], write);
    const sizes: number[] = [];
    const found: string[] = [];
    const options = { ...read, pageRows: 10 };
    for await (const page of session.pages('SELECT name FROM facts', [], options)) {
      sizes.push(page.length);
      found.push(...page.map((row): string => row['name']));
    }
    assert.equal(sizes, [10, 10, 6]);
    assert.equal(found.toSorted(), [...names, 'prepared'].toSorted());
  });
});

reading.after(async () => (await opened)?.[Symbol.asyncDispose]());

for (const part of [silent, broken, definite, ends, reading]) part.run();

async function untilAnswered(session: CassandraSession): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (performance.now() < endMs) {
    const isAnswered = await session.execute(READ, ['a'], read).then(
      () => true,
      () => false,
    );
    if (isAnswered) return;
    await delay(50);
  }
  throw new Error('no answer within 10 s');
}
