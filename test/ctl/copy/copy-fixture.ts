import { encodeGroup } from '#actor-runtime/record-codec';
import { AuditTrail } from '#audit/trail';
import type { NamedStores, Place, StorePlaces } from '#ctl/command';
import type { EngineClient, EngineCommand } from '#grpc/engine-messages';
import type { Clock } from '#stdlib/clock';
import type { ShardedService } from '#storage/ports/cluster';
import { FEED_CHUNK_ROWS } from '#storage/ports/feeds';
import { ANSWER_AGE_MS } from '#storage/ports/instances';
import type { Journal } from '#storage/ports/journal';
import { clusterInMemory, SHARDS } from '#test/ctl/cluster-fixture';
import type { Cluster } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import { askerOf, engineOn, IDS, soon, source } from '#test/ctl/export/export-fixture';
import {
  ACCOUNT_ID,
  CREATE,
  callOf,
  observed,
  pushed,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { feedCheckpoint } from '#test/storage/contracts/feed-records';
import { meterAt, monthAt } from '#test/storage/contracts/meter-records';
import { answerRow } from '#test/storage/contracts/rows';
import { addKey } from '#test/storage/contracts/stored-keys';
import { someUser } from '#test/storage/contracts/user-store';
import { ManualClock } from '#test/support/manual-clock';

/** Dead incarnations that own the source's shards. */
export const DEAD = { engine: 'e1', limiter: 'l1' } as const;

/** Instances whose changes were only in the journal when the engine died. */
export const LATE = { created: 'inst_00000000000000b1', deleted: 'inst_00000000000000b2' } as const;

/** A deleted instance with a stored deletion marker. */
const GONE = 'inst_00000000000000b3';

/** A second account with people, but without instances. */
export const OTHER_ID = 'Acc0unt00002';

/**
 * Maximum time that records wait for an append, in milliseconds. Below the time in which the outbox
 * gathers notices, so that the feeds of a dead installation append nothing later.
 */
const GATHERING_MS_MAX = 20;

/** A deleted account. */
export const DELETED_ID = 'Acc0unt00009';

/** Stores with rows of every kind, whose processes have died. */
export type DeadInstallation = AsyncDisposable & {
  readonly cluster: Cluster;
  /** The engine just before its death, as the reference for its successor's answers. */
  readonly engine: EngineClient;
};

/** Runs a write, drops the write, or throws. */
type OnWrite = (write: () => Promise<unknown>, name: string) => Promise<unknown>;

/** The stores in the form that a copy uses. */
export function seenBy(name: string, { stores }: Cluster): NamedStores {
  const { people, ...others } = stores;
  return { ...others, users: people.users, members: people.members, name };
}

/** The same stores, with `onWrite` around every write. */
export function watched(
  { name, ownSecret: _, ...stores }: NamedStores,
  onWrite: OnWrite,
): NamedStores {
  const each = Object.entries<object>(stores).map(([store, methods]) => {
    const calls: [string, (...args: never[]) => unknown][] = Object.entries({ ...methods });
    const watching = calls.map(([method, run]) => {
      if (!WRITES.has(method)) return [method, run];
      const write = (...args: never[]) =>
        onWrite(async () => await run(...args), `${store}.${method}`);
      return [method, write];
    });
    return [store, Object.fromEntries(watching)];
  });
  return { ...Object.fromEntries(each), name };
}

/** Methods with which a copy writes. */
const WRITES = new Set([
  ...['create', 'changeKeys', 'beginDeletion', 'endDeletion', 'endImport'],
  ...['put', 'note', 'append', 'begin', 'seal', 'change', 'fixCount', 'fixCluster'],
  ...['checkpoint', 'storeAnswers', 'erase'],
]);

/** Runs `ctl copy` between two installations in memory. */
export async function copy(
  from: NamedStores,
  to: NamedStores,
  { argv = ARGV, clock = hasty() }: { argv?: readonly string[]; clock?: Clock } = {},
) {
  const places: StorePlaces = {
    clock,
    nameOf,
    openSource: async () => ({ ...from, [Symbol.asyncDispose]: async () => undefined }),
    openTarget: async () => ({ ...to, [Symbol.asyncDispose]: async () => undefined }),
  };
  return await ctl(argv, { places });
}

const ARGV = ['copy', '--from', 'sqlite:a', '--to', 'cassandra'];

function nameOf(place: Place): string {
  return place.kind === 'sqlite' ? `sqlite:${place.file}` : 'cassandra:b';
}

/** A clock at the start time of the fixture. Its timers fire immediately. */
export function hasty(): Clock {
  const time = new ManualClock(START_MS);
  return {
    wallMs: () => time.wallMs(),
    monotonicMs: () => time.monotonicMs(),
    after: (_, task) => soon(task),
  };
}

/** Clock without long timers, so that an engine appends records but stores no checkpoint. */
function shortLived(): Clock {
  const time = new ManualClock(START_MS);
  return {
    wallMs: () => time.wallMs(),
    monotonicMs: () => time.monotonicMs(),
    after(delayMs, task) {
      if (delayMs > GATHERING_MS_MAX) return { [Symbol.dispose]: () => undefined };
      return soon(task);
    },
  };
}

/** Creates a `DeadInstallation`. Its engine has appended records that no checkpoint contains. */
export async function deadInstallation(): Promise<DeadInstallation> {
  const cluster = await source();
  await ownedByDead(cluster);
  await withOthers(cluster);
  await withAnswers(cluster);
  const journal = linesIn(cluster);
  const engine = engineOn(cluster, shortLived(), journal);
  await askedBeforeDeath(engine);
  // The cluster stays open, because closing would store the unstored changes.
  return { cluster, engine, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

/** An empty installation. */
export async function emptyInstallation(): Promise<Cluster> {
  return await clusterInMemory([]);
}

async function ownedByDead({ stores: { shards, journals } }: Cluster): Promise<void> {
  await shards.fixCluster('c7');
  for (const service of ['engine', 'limiter'] as const satisfies ShardedService[]) {
    await shards.fixCount(service, SHARDS);
    const owner = DEAD[service];
    await journals.begin(owner, `${owner}:1`);
    for (let shard = 0; shard < SHARDS; shard += 1) {
      const { row } = await shards.change({ service, shard, from: undefined, owner: 'older' });
      await shards.change({ service, shard, from: row, owner });
    }
  }
  // Slots with empty groups, as a limiter appends them to confirm answers.
  for (const slot of [5, 6]) {
    const append = { incarnation: DEAD.limiter, slot, lowWaterMark: 5, deleteBelow: undefined };
    await journals.append({ ...append, records: encodeGroup([]) });
  }
  await journals.begin('older', 'older:1');
  await journals.seal('older');
}

async function withOthers({ stores }: Cluster): Promise<void> {
  const { accounts, people, meters, feeds, keyUses, billing, audit } = stores;
  const account = { name: 'Other', plan: 'free', status: 'active', createdAtMs: 2 } as const;
  const limits = { requestsPerMinute: 1, cyclesPerMonth: 2, instances: 3 };
  await accounts.create({ ...account, limits, id: OTHER_ID });
  // The key expired so long ago that lists omit it.
  await addKey(accounts, OTHER_ID, { ...KEY, expiresAtMs: 9 });
  await accounts.create({ ...account, limits, id: DELETED_ID });
  await accounts.beginDeletion(DELETED_ID, 3);
  await accounts.endDeletion(DELETED_ID);
  const user = someUser('ada@example.com', { recoveryDigests: ['r'], deviceDigests: ['d'] });
  await people.users.create(user);
  await people.users.create(someUser('left@example.com'));
  const times = { accountId: OTHER_ID, createdAtMs: START_MS, expiresAtMs: START_MS + 1_000 };
  await people.members.addLink({ ...times, digest: 's', kind: 'setup' });
  await people.members.enter({ ...times, digest: 's', userId: user.id, atMs: START_MS });
  const invitation = { kind: 'invitation', email: 'bob@example.com', role: 'viewer' } as const;
  await people.members.addLink({ ...times, ...invitation, digest: 'i' });
  const head = meterAt(7, { finished: [monthAt(4, 6)] });
  await meters.checkpoint([
    { accountId: ACCOUNT_ID, head: meterAt(6, { finished: [monthAt(3)] }) },
  ]);
  await meters.checkpoint([{ accountId: ACCOUNT_ID, head }]);
  await feeds.checkpoint([feedCheckpoint(ACCOUNT_ID, 8, 4 * FEED_CHUNK_ROWS + 9, { floor: 300 })]);
  await keyUses.note(ACCOUNT_ID, {
    digest: 'd',
    minute: 5,
    address: '10.0.0.1',
    client: undefined,
  });
  const record = { customers: [{ id: 'cus_1', atMs: 1 }], subscriptions: [], returns: [] };
  await billing.put(OTHER_ID, 0, record);
  await billing.put(ACCOUNT_ID, 0, { ...record, customers: [...record.customers] });
  const trail = new AuditTrail({ store: audit, clock: new ManualClock(START_MS) });
  for (let line = 0; line < 300; line += 1) {
    const actor = { kind: 'operator', name: `n${line}` } as const;
    await trail.append(ACCOUNT_ID, { action: 'key.create', actor, outcome: 'done' });
  }
}

/** Adds stored answers, including an expired answer, and a deletion marker. */
async function withAnswers(cluster: Cluster): Promise<void> {
  {
    await using engine = engineOn(cluster);
    const ask = askerOf(engine);
    await ask(GONE, CREATE);
    await ask(GONE, { kind: 'remove' });
  }
  const { instances } = cluster.stores;
  const old = answerRow('process:old', START_MS - 2 * ANSWER_AGE_MS);
  const young = ['process:1', 'process:2'].map((key) => answerRow(key, START_MS - 1_000));
  await instances.storeAnswers([{ instanceId: IDS.long, version: 3, answers: [...young, old] }]);
  const early = [answerRow('create:1', START_MS)];
  await instances.storeAnswers([{ instanceId: LATE.created, version: 1, answers: early }]);
}

const KEY = {
  id: 'key_00000000000000ff',
  digest: 'e'.repeat(43),
  scope: 'full',
  createdAtMs: 5,
} as const;

/** A journal whose lines become slots of the dead engine, after its existing slots. */
function linesIn({ stores: { journals } }: Cluster): Journal {
  let slot = 2;
  return {
    isLasting: true,
    isOnlyWriter: false,
    async append(lines) {
      slot += 1;
      const append = { incarnation: DEAD.engine, slot, lowWaterMark: 3, deleteBelow: undefined };
      await journals.append({ ...append, records: encodeGroup(lines) });
    },
  };
}

async function askedBeforeDeath(engine: EngineClient): Promise<void> {
  const ask = askerOf(engine);
  let callId = 1_000;
  const keyed = async (instanceId: string, command: EngineCommand) => {
    callId += 1;
    const idempotency = { key: `k${callId}`, fingerprint: 'f'.repeat(43) };
    await engine.ask(callOf(command, { instanceId, callId, idempotency }));
  };
  for (let n = 61; n <= 140; n += 1) await ask(IDS.drifting, pushed(n));
  await ask(IDS.reset, { kind: 'reset', mode: 'initial' });
  await keyed(IDS.reset, observed({ timestampMs: START_MS + 90_000 }));
  await ask(LATE.created, CREATE);
  await keyed(LATE.created, observed());
  await ask(LATE.deleted, CREATE);
  await ask(LATE.deleted, { kind: 'remove' });
  await ask(IDS.empty, { kind: 'remove' });
}
