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

/** Corruptions of a correct model, each with the expected finding. */
export const WRONGS: readonly {
  readonly what: string;
  readonly found: RegExp;
  readonly before?: (life: Life) => void;
  readonly after?: (life: Life, stores: CheckedStores) => CheckedStores;
}[] = [
  {
    what: 'an acknowledged observation that was not applied',
    found: /acknowledged call \d+ is lost/,
    before: ({ use }) => void use('process', { happens: false }),
  },
  {
    what: 'an acknowledged instance without stored data',
    found: /acknowledged, but no head is stored/,
    after: ({ other }, stores) => spoilt(stores, other.instance, { head: () => undefined }),
  },
  {
    what: 'the loss of the newest versions',
    found: /was answered with version \d+, but version \d+ is stored/,
    after: ({ main }, stores) =>
      spoilt(stores, main.instance, { head: (head) => ({ ...head, version: head.version - 5 }) }),
  },
  {
    what: 'a refused observation that is stored',
    found: /call \d+ was refused, but it is stored/,
    before: ({ use }) => void use('process', { answered: REFUSED }),
  },
  {
    what: 'a throttled observation that is stored',
    found: /call \d+ was throttled, but it is stored/,
    before: ({ use }) => void use('process', { answered: { kind: 'throttled', etag: '' } }),
  },
  {
    what: 'an observation that is stored twice',
    found: /observation \S+ is stored twice/,
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
    what: 'a batch that is stored in part',
    found: /only \d+ of \d+ observations of call \d+ are stored/,
    after: ({ main, batch }, stores) =>
      spoilt(stores, main.instance, {
        history: (rows) =>
          rows.filter(({ contextJson }) => !contextJson.includes(`"${markOf(batch.id, 1)}"`)),
      }),
  },
  {
    what: 'an observation that no call sent',
    found: /no call sent observation/,
    after: ({ main }, stores) =>
      spoilt(stores, main.instance, {
        history: (rows) =>
          rows.map((row, place) =>
            place === 3 ? { ...row, contextJson: '{"mark":"9999.0"}' } : row,
          ),
      }),
  },
  {
    what: 'a history row that is missing',
    found: /row \d+ is missing/,
    after: ({ main }, stores) =>
      spoilt(stores, main.instance, { history: (rows) => rows.toSpliced(5, 1) }),
  },
  {
    what: 'an observation that is stored with another value',
    found: /was sent with other values/,
    after: ({ main }, stores) =>
      spoilt(stores, main.instance, {
        history: (rows) =>
          rows.map((row, place) => (place === 2 ? { ...row, signal: 0.123 } : row)),
      }),
  },
  {
    what: 'rows that are not in the order of real time',
    found: /began after the end of call \d+, but its rows are stored first/,
    before: ({ first, second }) => {
      const { startMs, endMs } = first;
      Object.assign(first, { startMs: second.startMs, endMs: second.endMs });
      Object.assign(second, { startMs, endMs });
    },
  },
  {
    what: 'an answer with an older version than an earlier answer',
    found: /received version \d+ after call \d+ had received version \d+/,
    before: ({ first, use }) => void use('read', { answered: first.outcome, happens: false }),
  },
  {
    what: 'two writes of the same version',
    found: /calls \d+ and \d+ both wrote version/,
    before: ({ first, second }) =>
      reanswered(second, { etag: 'etag' in first.outcome && first.outcome.etag }),
  },
  {
    what: 'an ETag that matches no version',
    found: /the ETag in the answer to call \d+ matches no version/,
    before: ({ first }) => reanswered(first, { etag: '"snap_0000000000000000"' }),
  },
  {
    what: 'an answered state that the history does not reach',
    found: /was answered with another state/,
    before: ({ last }) => reanswered(last, { bodyHash: 'another' }),
  },
  {
    what: 'a reset that was answered with another state',
    found: /no reset leads to generation/,
    before: ({ reset }) => reanswered(reset, { bodyHash: 'another' }),
  },
  {
    what: 'a head that differs from the replayed history in one bit',
    found: /replaying the history does not give the stored state/,
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
    found: /\d+ drift events are stored, but the history has \d+/,
    after: ({ main }, stores) => spoilt(stores, main.instance, { drift: (rows) => rows.slice(1) }),
  },
  {
    what: 'a stored name whose call was refused',
    found: /no successful call set the name "\w+"/,
    before: ({ use }) => void use('rename', { answered: REFUSED }),
  },
  {
    what: 'a missing answer of a call with a key',
    found: /call \d+ with a key has no stored answer/,
    after: ({ main }, stores) => spoilt(stores, main.instance, { answers: async () => undefined }),
  },
  {
    what: 'an acknowledged delete that was not applied',
    found: /call \d+ deleted it, but it is still stored/,
    before: ({ use }) => void use('remove', { happens: false }),
  },
  {
    what: 'a deleted instance that no call deleted',
    found: /is deleted, but no call deleted it/,
    before: ({ use }) => void use('remove', { answered: REFUSED }),
  },
  {
    what: 'rows that remain after a delete',
    found: /history rows remain after the delete/,
    after: ({ main, removed }, stores) =>
      spoilt(stores, removed.instance, { history: () => rowsLike(main) }),
  },
  {
    what: 'a stored answer that remains after a delete',
    found: /the stored answer of call \d+ remains after the delete/,
    after: ({ removed }, stores) =>
      spoilt(stores, removed.instance, {
        answers: async (_, key) => ({ key, fingerprint: '', body: '', etag: '', atMs: 0 }),
      }),
  },
  {
    what: 'a call that succeeded after a delete',
    found: /succeeded after the acknowledged delete/,
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
    what: 'an instance that is not listed',
    found: /exists, but is not listed/,
    after: (_, { instances }) => ({ instances, listings: { ...NO_LISTINGS } }),
  },
  {
    what: 'a deleted instance that is still listed',
    found: /is listed, but does not exist/,
    after: ({ removed }, stores) => withLine(stores, removed.instance, 'n1'),
  },
  {
    what: 'an instance that is listed with another name',
    found: /but the listing has "another"/,
    after: ({ other }, stores) => withLine(stores, other.instance, 'another'),
  },
  {
    what: 'an instance whose create was refused',
    found: /no call can have created "\w+"/,
    before: ({ create }) => void create(REFUSED),
  },
  {
    what: 'a version that only a journal holds',
    found: /a journal holds version \d+, but the head has version \d+/,
    after: ({ main }, stores) => ({ ...stores, journals: journalOf(main.instance) }),
  },
];

function reanswered(call: Call, changes: object): void {
  call.outcome = { ...call.outcome, ...changes } as Outcome;
}
