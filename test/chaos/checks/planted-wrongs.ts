import {
  journalOf,
  NO_LISTINGS,
  rowsLike,
  spoilt,
  withLine,
} from '#test/chaos/checks/spoilt-stores';
import type { CheckedStores } from '#test/chaos/checks/stores';
import { type Life, REFUSED, UNKNOWN } from '#test/chaos/lived-world';
import { type Call, markOf, type Outcome } from '#test/chaos/load/call-log';

/** Corruptions of a world, and the expected finding of each. */
export const WRONGS: readonly {
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
    before: ({ use }) => void use('process', { answered: REFUSED }),
  },
  {
    what: 'a throttled observation that is there',
    found: /call \d+ was throttled, and it is there/,
    before: ({ use }) => void use('process', { answered: { kind: 'throttled', etag: '' } }),
  },
  {
    what: 'an observation that is there twice',
    found: /observation \S+ is there twice/,
    before: ({ first, use }) => {
      const again = use('process', { answered: UNKNOWN });
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
    what: 'an observation that no call sent',
    found: /no call has sent observation/,
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
    before: ({ first, use }) => void use('read', { answered: first.outcome, happens: false }),
  },
  {
    what: 'two writes of one version',
    found: /calls \d+ and \d+ were both version/,
    before: ({ first, second }) =>
      reanswered(second, { etag: 'etag' in first.outcome && first.outcome.etag }),
  },
  {
    what: 'an ETag of no version',
    found: /an ETag of no possible version/,
    before: ({ first }) => reanswered(first, { etag: '"snap_0000000000000000"' }),
  },
  {
    what: 'a state that was answered and is not in the history',
    found: /was answered another state/,
    before: ({ last }) => reanswered(last, { bodyHash: 'another' }),
  },
  {
    what: 'a reset that was answered another state',
    found: /no reset explains generation/,
    before: ({ reset }) => reanswered(reset, { bodyHash: 'another' }),
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
    found: /its name "\w+" was refused, or no call gave it/,
    before: ({ use }) => void use('rename', { answered: REFUSED }),
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
    what: 'a delete without a call',
    found: /it is deleted, and no call has done that/,
    before: ({ use }) => void use('remove', { answered: REFUSED }),
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
          answered: ofRemoved.outcome,
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
    found: /no call has made "\w+", or it was refused/,
    before: ({ create }) => void create(REFUSED),
  },
  {
    what: 'what only a journal holds',
    found: /a journal holds version \d+, its head \d+/,
    after: ({ main }, stores) => ({ ...stores, journals: journalOf(main.instance) }),
  },
];

function reanswered(call: Call, changes: object): void {
  call.outcome = { ...call.outcome, ...changes } as Outcome;
}
