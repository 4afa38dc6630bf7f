import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { EventReader, type StreamEvent } from '#test/support/calls/event-reader';
import { createInstance, observationAt } from '#test/support/calls/scene';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/** Followed instances, several per engine. */
const INSTANCES = 8;

/** Interval between two observations of an instance, in milliseconds. */
const PACE_MS = 1_000;

/** An instance with an event stream from its first observation on. */
type Followed = {
  readonly id: string;
  readonly reader: EventReader;
  readonly events: StreamEvent[];
  /** Resolves when the stream has ended. */
  readonly reading: Promise<unknown>;
  acknowledged: number;
  readonly refusals: string[];
};

let cluster: OwnCluster;
const followed: Followed[] = [];

const following = suite('event streams while engines join and leave');

const open = (id: string) =>
  EventReader.open(cluster.service().api, cluster.caller, `/instances/${id}/events`);

following.before(async () => {
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b']);
  const ids = await Promise.all(
    Array.from({ length: INSTANCES }, () => createInstance(cluster.caller)),
  );
  // The edge closes streams that open within a second after an account change.
  for (let isOver = false; !isOver; ) {
    using hasty = await open(ids[0] ?? '');
    isOver = !(await hasty.endsWithin(1_500));
  }
  for (const id of ids) {
    const reader = await open(id);
    const events = await reader.until('state');
    const reading = reader.rest(events);
    followed.push({ id, reader, events, reading, acknowledged: 0, refusals: [] });
  }
});
following.after(async () => {
  for (const { reader } of followed) reader[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
});

/** Observes every instance once a second until shortly after `change`. */
async function under(change: () => Promise<void>): Promise<void> {
  const state = { isOver: false };
  const callers = followed.map(async (instance) => {
    for (; !state.isOver; await sleep(PACE_MS)) {
      const json = observationAt(2 * (instance.acknowledged + instance.refusals.length));
      const path = `/instances/${instance.id}/process`;
      const { status, text } = await cluster.caller.send('POST', path, { json });
      if (status === 200) instance.acknowledged += 1;
      else instance.refusals.push(text);
    }
  });
  await change();
  await sleep(2 * PACE_MS);
  state.isOver = true;
  await Promise.all(callers);
}

/** Waits until an engine owns the expected number of shards. */
async function owned(name: string, isEnough: (count: number) => boolean): Promise<void> {
  const run = cluster.engines.get(name);
  if (run === undefined) throw new Error(`there is no engine ${name}`);
  for (let attempts = 0; attempts < 600; attempts += 1) {
    if (isEnough(await cluster.metric(run, 'shards_owned'))) return;
    await sleep(100);
  }
  throw new Error(`${name} does not own the expected number of shards`);
}

const idsOf = (events: readonly StreamEvent[]) =>
  events.filter(({ event }) => event === 'cycle').map(({ id }) => id);

/** Asserts that every acknowledged cycle arrived once and in order, on the first stream. */
async function assertAllArrived(): Promise<void> {
  for (const { id, events, acknowledged, refusals } of followed) {
    assert.equal(refusals, [], id);
    for (let attempts = 0; idsOf(events).length < acknowledged && attempts < 100; attempts += 1) {
      await sleep(100);
    }
    assert.equal(
      idsOf(events),
      Array.from({ length: acknowledged }, (_, n) => n + 1),
      id,
    );
    assert.ok(acknowledged > 3, `${id} was observed ${acknowledged} times`);
  }
}

following('deliver every acknowledged cycle once after a kill of the owner', async () => {
  await owned('a', (count) => count > 0);
  await owned('b', (count) => count > 0);
  await under(async () => {
    await sleep(3 * PACE_MS);
    cluster.engines.get('b')?.child.kill('SIGKILL');
    await owned('a', (count) => count === 16);
  });
  cluster.engines.delete('b');
  await assertAllArrived();
});

following('deliver every acknowledged cycle once while shards move to a new engine', async () => {
  await under(async () => {
    await cluster.startEngine('c');
    await owned('c', (count) => count === 8);
  });
  await assertAllArrived();
});

following('do not delay a leaving engine, and lose no cycle', async () => {
  await under(async () => {
    const leaving = cluster.engines.get('a');
    const startedMs = performance.now();
    leaving?.child.kill('SIGTERM');
    assert.is(await leaving?.ended, 0, leaving?.stderr());
    const tookMs = performance.now() - startedMs;
    assert.ok(tookMs < 6_000, `${tookMs} ms`);
    await owned('c', (count) => count === 16);
  });
  cluster.engines.delete('a');
  await assertAllArrived();
});

following('are closed immediately by a leaving edge, with a reconnect delay', async () => {
  const startedMs = performance.now();
  cluster.edge.child.kill('SIGTERM');
  for (const { reading, events } of followed) {
    await reading;
    assert.ok((events.at(-1)?.retryMs ?? 0) > 1_000);
  }
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < 2_000, `${tookMs} ms`);
});

following.run();
