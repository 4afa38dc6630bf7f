import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readProcessAnswer } from '#bench/load/process-answer';
import { type Cycle, firstIdentity, instanceId, observe } from '#bench/references/identity';
import { optimisticStore } from '#bench/references/optimistic-store';
import type { Idempotency, StoredAnswer } from '#bench/references/store';

const MINUTE_MS = 60_000;

const observationAt = (timeMs: number) => ({
  mode_target: 'ORDER',
  signal_strength: 0.6,
  confidence: 0.9,
  context: {},
  timestamp: new Date(timeMs).toISOString(),
});

const startMs = Date.UTC(2026, 0, 1);

/** A database in memory. `isRaced` makes another process win the next `swap`. */
function fakeDatabase() {
  const answers = new Map<string, StoredAnswer>();
  const rows: number[] = [];
  let stored = firstIdentity(0);
  const database = {
    isRaced: false,
    rows,
    read: async () => stored,
    find: async (_id: string, key: string) => answers.get(key),
    swap: async (_id: string, cycle: Cycle, idempotency: Idempotency | undefined) => {
      if (database.isRaced) {
        database.isRaced = false;
        stored = { ...stored, version: stored.version + 1 };
      }
      const { next, answer } = cycle;
      const isReplay = idempotency !== undefined && answers.has(idempotency.key);
      if (isReplay || next.version !== stored.version + 1) return false;
      stored = next;
      rows.push(next.version);
      const { body, etag } = answer;
      if (idempotency !== undefined) {
        const { key, fingerprint } = idempotency;
        answers.set(key, { fingerprint, body: `${body}`, etag });
      }
      return true;
    },
  };
  return database;
}

const callAt = (timeMs: number, idempotency?: Idempotency) => ({
  id: instanceId(0),
  accountId: 'account',
  observation: observationAt(timeMs),
  idempotency,
});

const references = suite('a reference of the benchmark');

// The references once looked up `ORDER` among `Order`, and answered `{"data":}` faster.
references('answers with all objects of the service', () => {
  const cycle = observe(instanceId(0), firstIdentity(0), observationAt(startMs));
  assert.is(cycle?.mode, 2);
  readProcessAnswer(JSON.parse(`${cycle?.answer.body}`));
});

references('repeats the answer of a key although the observation is early by then', async () => {
  const database = fakeDatabase();
  const store = optimisticStore(database);
  const call = callAt(startMs, { key: 'k', fingerprint: 'f' });
  const first = await store.process(call);
  const second = await store.process(call);
  assert.ok(typeof first !== 'string' && typeof second !== 'string');
  assert.is(second.body, first.body);
  assert.ok(second.isReplayed);
  assert.equal(database.rows, [2]);
});

references('refuses a key that comes with another request', async () => {
  const store = optimisticStore(fakeDatabase());
  await store.process(callAt(startMs, { key: 'k', fingerprint: 'f' }));
  const other = callAt(startMs + MINUTE_MS, { key: 'k', fingerprint: 'g' });
  assert.is(await store.process(other), 'reused');
});

references('reads the state again after another process has changed the instance', async () => {
  const database = fakeDatabase();
  const store = optimisticStore(database);
  await store.process(callAt(startMs));
  database.isRaced = true;
  const answer = await store.process(callAt(startMs + MINUTE_MS));
  assert.not.type(answer, 'string');
  assert.equal(database.rows, [2, 4]);
});

references.run();
