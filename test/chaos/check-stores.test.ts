import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DriftRow, HistoryRow, InstanceHead, InstanceStore } from '#storage/instance-store';
import { memoryJournalStore } from '#storage/memory/memory-journal-store';
import { type Call, markOf, type Outcome, type Requested } from '#test/chaos/call-log';
import { Chance } from '#test/chaos/chance';
import { type CheckedStores, checkStores } from '#test/chaos/check-stores';
import { ACCOUNT, CheckedWorld } from '#test/chaos/checked-world';
import { type KnownInstance, Requests } from '#test/chaos/requests';
import { groupOf } from '#test/runtime/journal-records';
import { ManualClock } from '#test/support/manual-clock';

const UNKNOWN: Outcome = { kind: 'unknown', why: 'a test' };
const REFUSED: Outcome = { kind: 'refused', status: 404, reason: 'not_found' };
const KEY = 'key-1';

/** A life with something of everything in it, about which callers were told the truth. */
function livedWorld() {
  const world = new CheckedWorld();
  const requests = new Requests(new Chance(3), 1_790_000_000_000);
  const create = (told?: Outcome) =>
    world.call(requests.create(world.log.nextId), told === undefined ? { key: 'c' } : { told });
  const main = create();
  let known: KnownInstance = { id: main.instance, accountId: ACCOUNT, sent: 0, inFlight: 0 };
  const requested = (kind: Parameters<Requests['use']>[0]): Requested =>
    requests.use(kind, world.log.nextId, known);
  const use = (kind: Parameters<Requests['use']>[0], course: object = {}): Call =>
    world.call(requested(kind), { instance: known.id, ...course });
  for (let left = 12; left > 0; left -= 1) use('process');
  const first = use('process');
  const second = use('process', { key: KEY });
  const batch = use('batch');
  const reset = use('reset');
  use('process', { told: UNKNOWN });
  use('process', { told: UNKNOWN, happens: false });
  use('batch', { told: UNKNOWN });
  use('reset', { told: UNKNOWN });
  use('rename');
  use('process', { told: REFUSED, happens: false });
  const last = use('process');
  const other = create();
  const removed = create();
  known = { ...known, id: removed.instance };
  const ofRemoved = use('process', { key: 'unreachable' });
  const remove = use('remove');
  known = { ...known, id: main.instance };
  return {
    world,
    main,
    other,
    first,
    second,
    batch,
    reset,
    last,
    removed,
    ofRemoved,
    remove,
    use,
    create,
  };
}

type Life = ReturnType<typeof livedWorld>;

async function findingsOf(
  life: Life,
  spoil: (stores: CheckedStores) => CheckedStores = (stores) => stores,
): Promise<string[]> {
  await life.world.store();
  const { instances, listings } = life.world;
  const { findings } = await checkStores(life.world.log, [ACCOUNT], spoil({ instances, listings }));
  return findings.lines;
}

/** The same store, but for what is read from one instance. */
function spoilt(
  { instances, listings }: CheckedStores,
  id: string,
  changes: {
    head?: (head: InstanceHead) => InstanceHead | undefined;
    history?: (rows: HistoryRow[]) => HistoryRow[];
    drift?: (rows: DriftRow[]) => DriftRow[];
    answers?: InstanceStore['findAnswer'];
  },
): CheckedStores {
  const { head = (same) => same, history = (same) => same, drift = (same) => same } = changes;
  return {
    listings,
    instances: {
      ...instances,
      async readHead(instance) {
        const found = await instances.readHead(instance);
        return instance === id && found !== undefined ? head(found) : found;
      },
      async readHistory(instance, newest, count) {
        const rows = await instances.readHistory(instance, newest, count);
        return instance === id ? history(rows) : rows;
      },
      async readDrift(instance, newest, count) {
        const rows = await instances.readDrift(instance, newest, count);
        return instance === id ? drift(rows) : rows;
      },
      findAnswer: (instance, key, oldestMs) =>
        instance === id && changes.answers !== undefined
          ? changes.answers(instance, key, oldestMs)
          : instances.findAnswer(instance, key, oldestMs),
    },
  };
}

function retold(call: Call, changes: object): void {
  call.outcome = { ...call.outcome, ...changes } as Outcome;
}

const NO_LISTINGS = {
  put: async () => undefined,
  remove: async () => undefined,
  listed: async () => [],
  find: async () => undefined,
  load: async () => [],
};

function rowsLike({ id }: Call): HistoryRow[] {
  const contextJson = JSON.stringify({ mark: markOf(id, 0) });
  const row = { ordinal: 1, generation: 1, cycle: 1, mode: 0, signal: 0, confidence: 0 };
  return [{ ...row, contextJson, timestampMs: 0 }];
}

function withLine({ instances, listings }: CheckedStores, id: string, name: string): CheckedStores {
  return {
    instances,
    listings: {
      ...listings,
      async load(account) {
        const lines = (await listings.load(account)).filter(({ instanceId }) => instanceId !== id);
        return [...lines, { instanceId: id, version: 1, name, description: '', createdAtMs: 0 }];
      },
    },
  };
}

/** A journal with one record of the instance that is far ahead of its head. */
function journalOf(actorId: string) {
  const journals = memoryJournalStore(new ManualClock());
  const record = { actor: 'instance', actorId, version: 999, callId: 1, atMs: 0, event: {} };
  void journals.begin('one', '127.0.0.1:1');
  void journals.append({
    incarnation: 'one',
    slot: 0,
    records: groupOf([record]),
    lowWaterMark: undefined,
  });
  return journals;
}

const checker = suite('the checker of chaos runs');

checker('finds nothing in a life of which callers were told the truth', async () => {
  assert.equal(await findingsOf(livedWorld()), []);
});

/** What goes wrong, and what the checker has to say of it. */
const WRONGS: readonly {
  readonly what: string;
  readonly found: RegExp;
  readonly before?: (life: Life) => void;
  readonly after?: (life: Life, stores: CheckedStores) => CheckedStores;
}[] = [
  {
    what: 'an acknowledged observation that never happened',
    found: /acknowledged call \d+ is lost/,
    before: ({ use }) => void use('process', { happens: false }),
  },
  {
    what: 'an acknowledged instance of which nothing is stored',
    found: /nothing is stored of it/,
    after: ({ other }, stores) => spoilt(stores, other.instance, { head: () => undefined }),
  },
  {
    what: 'the loss of everything after a version',
    found: /was answered version \d+, and \d+ is stored/,
    after: ({ main }, stores) =>
      spoilt(stores, main.instance, { head: (head) => ({ ...head, version: head.version - 5 }) }),
  },
  {
    what: 'a refused observation that is there',
    found: /call \d+ was refused, and it is there/,
    before: ({ use }) => void use('process', { told: REFUSED }),
  },
  {
    what: 'a throttled observation that is there',
    found: /call \d+ was throttled, and it is there/,
    before: ({ use }) => void use('process', { told: { kind: 'throttled', etag: '' } }),
  },
  {
    what: 'an observation that is there twice',
    found: /observation \S+ is there twice/,
    before: ({ first, use }) => {
      const again = use('process', { told: UNKNOWN });
      Object.assign(again.requested, first.requested);
    },
    after: ({ main, first }, stores) =>
      spoilt(stores, main.instance, {
        history: (rows) =>
          rows.map((row, place) =>
            place === 0
              ? { ...row, contextJson: JSON.stringify({ mark: markOf(first.id, 0) }) }
              : row,
          ),
      }),
  },
  {
    what: 'half of a batch',
    found: /of call \d+ only \d+ of \d+ are there/,
    after: ({ main, batch }, stores) =>
      spoilt(stores, main.instance, {
        history: (rows) =>
          rows.filter(({ contextJson }) => !contextJson.includes(`"${markOf(batch.id, 1)}"`)),
      }),
  },
  {
    what: 'an observation that nobody sent',
    found: /nobody has sent observation/,
    after: ({ main }, stores) =>
      spoilt(stores, main.instance, {
        history: (rows) =>
          rows.map((row, place) =>
            place === 3 ? { ...row, contextJson: '{"mark":"9999.0"}' } : row,
          ),
      }),
  },
  {
    what: 'a row that is missing from the middle',
    found: /row \d+ is missing/,
    after: ({ main }, stores) =>
      spoilt(stores, main.instance, { history: (rows) => rows.toSpliced(5, 1) }),
  },
  {
    what: 'an observation that was changed on its way',
    found: /is not what was sent/,
    after: ({ main }, stores) =>
      spoilt(stores, main.instance, {
        history: (rows) =>
          rows.map((row, place) => (place === 2 ? { ...row, signal: 0.123 } : row)),
      }),
  },
  {
    what: 'rows in another order than real time has',
    found: /began after \d+ ended, and stands before it/,
    before: ({ first, second }) => {
      const { startMs, endMs } = first;
      Object.assign(first, { startMs: second.startMs, endMs: second.endMs });
      Object.assign(second, { startMs, endMs });
    },
  },
  {
    what: 'an answer older than one that was given before',
    found: /saw version \d+ after call \d+ had seen \d+/,
    before: ({ first, use }) => void use('read', { told: first.outcome, happens: false }),
  },
  {
    what: 'two writes of one version',
    found: /calls \d+ and \d+ were both version/,
    before: ({ first, second }) =>
      retold(second, { etag: 'etag' in first.outcome && first.outcome.etag }),
  },
  {
    what: 'an ETag of no version',
    found: /an ETag of no possible version/,
    before: ({ first }) => retold(first, { etag: '"snap_0000000000000000"' }),
  },
  {
    what: 'a state that was answered and is not in the history',
    found: /was answered another state/,
    before: ({ last }) => retold(last, { bodyHash: 'another' }),
  },
  {
    what: 'a reset that was answered another state',
    found: /no reset explains generation/,
    before: ({ reset }) => retold(reset, { bodyHash: 'another' }),
  },
  {
    what: 'a head that its history does not come to, by one bit',
    found: /its history does not come to its state/,
    after: ({ main }, stores) =>
      spoilt(stores, main.instance, {
        head: (head) => ({
          ...head,
          model: head.model.map((value, place) => (place === 8 ? value + 2 ** -50 : value)),
        }),
      }),
  },
  {
    what: 'a drift event that is missing',
    found: /\d+ drift events are stored, its history has \d+/,
    after: ({ main }, stores) => spoilt(stores, main.instance, { drift: (rows) => rows.slice(1) }),
  },
  {
    what: 'a name that was refused',
    found: /its name "\w+" was refused, or nobody gave it/,
    before: ({ use }) => void use('rename', { told: REFUSED }),
  },
  {
    what: 'a keyed answer that is lost',
    found: /keyed call \d+ has lost its answer/,
    after: ({ main }, stores) => spoilt(stores, main.instance, { answers: async () => undefined }),
  },
  {
    what: 'a delete that did not happen',
    found: /call \d+ deleted it, and it is there/,
    before: ({ use }) => void use('remove', { happens: false }),
  },
  {
    what: 'a delete that nobody has asked for',
    found: /it is deleted, and nobody has done that/,
    before: ({ use }) => void use('remove', { told: REFUSED }),
  },
  {
    what: 'rows that outlived their instance',
    found: /rows are left after its delete/,
    after: ({ main, removed }, stores) =>
      spoilt(stores, removed.instance, { history: () => rowsLike(main) }),
  },
  {
    what: 'an answer that outlived its instance',
    found: /the answer of call \d+ outlived its delete/,
    after: ({ removed }, stores) =>
      spoilt(stores, removed.instance, {
        answers: async (_, key) => ({ key, fingerprint: '', body: '', etag: '', atMs: 0 }),
      }),
  },
  {
    what: 'an answer after a delete',
    found: /was answered after its delete/,
    before: ({ world, ofRemoved, removed }) =>
      void world.call(
        { kind: 'rename', name: 'late' },
        {
          instance: removed.instance,
          told: ofRemoved.outcome,
          happens: false,
        },
      ),
  },
  {
    what: 'an instance that is there and not listed',
    found: /it is there and not listed/,
    after: (_, { instances }) => ({ instances, listings: { ...NO_LISTINGS } }),
  },
  {
    what: 'an instance that is listed and deleted',
    found: /it is listed and not there/,
    after: ({ removed }, stores) => withLine(stores, removed.instance, 'n1'),
  },
  {
    what: 'an instance that is listed under another name',
    found: /and listed as "another"/,
    after: ({ other }, stores) => withLine(stores, other.instance, 'another'),
  },
  {
    what: 'an instance whose create was refused',
    found: /nobody has made "\w+", or it was refused/,
    before: ({ create }) => void create(REFUSED),
  },
  {
    what: 'what only a journal holds',
    found: /a journal holds version \d+, its head \d+/,
    after: ({ main }, stores) => ({ ...stores, journals: journalOf(main.instance) }),
  },
];

for (const { what, found, before, after } of WRONGS) {
  checker(`finds ${what}`, async () => {
    const life = livedWorld();
    before?.(life);
    const lines = await findingsOf(life, (stores) => after?.(life, stores) ?? stores);
    assert.ok(
      lines.some((line) => found.test(line)),
      `${found} in:\n${lines.join('\n')}`,
    );
  });
}

checker('takes a create whose answer got lost for what it is, once', async () => {
  const life = livedWorld();
  life.create(UNKNOWN);
  assert.equal(await findingsOf(life), []);
});

checker.run();
