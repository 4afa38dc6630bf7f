import { ActorHost } from '#actor-runtime/actor-host';
import { Evidence } from '#cluster/failure-evidence';
import { JournalProgress } from '#cluster/journal-progress';
import { Lifelines } from '#cluster/lifelines';
import { HostedShards } from '#shards/hosted-shards';
import { RecoveredRecords } from '#shards/tail-recovery';
import { replaceGetter, replaceMethod } from '#test/simulation/faults/replace-method';
import {
  CRASHES,
  GONE,
  LONG,
  MOVES,
  REFUSALS,
  RETURNS,
  STALLS,
  type Variant,
} from '#test/simulation/faults/variant';

/** The flawed node considers a journal stalled after this number of reads without progress. */
const SAME_READS = 2;

/** Flaws in sealing, takeover and handoff. */
export const SHARD_VARIANTS: readonly Variant[] = [
  {
    name: 'shard released while it accepts calls',
    requested: MOVES,
    spoil: (stack) =>
      replaceMethod(stack, HostedShards, 'closeShard', async (close, shards, ...args) => {
        // The shard is released while it still accepts calls.
        close(...args).catch(() => undefined);
        const epoch = shards.open.get(args[0]) ?? 1;
        shards.openShard({ shard: args[0], epoch });
      }),
  },
  {
    name: 'shard opened again in a closed epoch',
    requested: MOVES,
    spoil: (stack) => {
      const reopened = new WeakMap<HostedShards, Set<number>>();
      replaceMethod(stack, HostedShards, 'closeShard', async (close, shards, ...args) => {
        const [shard] = args;
        const epoch = shards.open.get(shard) ?? 1;
        await close(...args);
        const before = reopened.get(shards) ?? new Set();
        reopened.set(shards, before);
        if (!before.has(shard)) shards.openShard({ shard, epoch });
        before.add(shard);
      });
    },
  },
  {
    name: 'opening without the recovered records of the epoch',
    requested: CRASHES,
    spoil: (stack) =>
      replaceMethod(stack, RecoveredRecords, 'open', (_original, recovered, shard, epoch) => {
        recovered.decide(shard, epoch);
      }),
  },
  {
    name: 'low-water mark past recovered records',
    requested: LONG,
    spoil: (stack) =>
      replaceGetter(stack, RecoveredRecords, 'lowest', () => Number.POSITIVE_INFINITY),
  },
  {
    name: 'claim before tail recovery is durable',
    requested: CRASHES,
    spoil: (stack) => {
      const waiting = new Set<() => void>();
      replaceMethod(stack, RecoveredRecords, 'hold', (hold, _recovered, ...args) => {
        hold(...args);
        for (const resolveIfRecovered of waiting) resolveIfRecovered();
      });
      replaceMethod(stack, HostedShards, 'recoverTail', (recoverTail, shards, owner, claims) => {
        return new Promise((resolve, reject) => {
          const resolveIfRecovered = (): void => {
            if (claims.every((claim) => shards.isRecovered(claim))) resolve();
          };
          waiting.add(resolveIfRecovered);
          recoverTail(owner, claims)
            .then(resolve, reject)
            .finally(() => waiting.delete(resolveIfRecovered));
        });
      });
    },
  },
  {
    name: 'release before the recovered records are activated',
    requested: LONG,
    spoil: (stack) => {
      replaceMethod(stack, RecoveredRecords, 'hasWaiting', () => false);
      replaceMethod(stack, RecoveredRecords, 'waiting', () => []);
    },
  },
  {
    name: 'actors kept in memory after a release',
    requested: RETURNS,
    spoil: (stack) => replaceMethod(stack, ActorHost, 'dropShard', () => undefined),
  },
  {
    name: 'wait for the read lease before the seal instead of after',
    requested: GONE,
    spoil: (stack) =>
      replaceMethod(stack, Evidence, 'openableMs', (openableMs, _evidence, incarnation) => {
        return openableMs(incarnation) < Number.POSITIVE_INFINITY ? 0 : Infinity;
      }),
  },
  {
    name: 'refused connection taken as proof of death',
    requested: REFUSALS,
    spoil: (stack) =>
      replaceMethod(stack, Lifelines, 'probe', async (probe, _lifelines, ...args) => {
        const found = await probe(...args);
        return found.kind === 'refused' ? { kind: 'ended' } : found;
      }),
  },
  {
    name: 'silence taken as proof of death',
    requested: GONE,
    spoil: (stack) =>
      replaceMethod(stack, Lifelines, 'probe', async (probe, _lifelines, ...args) => {
        const found = await probe(...args);
        return found.kind === 'silent' ? { kind: 'ended' } : found;
      }),
  },
  {
    name: 'reset lifeline taken as the end of a process',
    requested: REFUSALS,
    flaws: { lifelines: 'resetIsFin' },
  },
  {
    name: 'goodbye of a live process taken as its end',
    requested: REFUSALS,
    flaws: { lifelines: 'goodbyeIsFin' },
  },
  {
    name: 'lifeline through a proxy taken as direct',
    requested: REFUSALS,
    flaws: { lifelines: 'proxyIsDirect' },
  },
  {
    name: 'journal sealed after two reads without progress',
    requested: STALLS,
    spoil: (stack) => {
      const reads = new WeakMap<JournalProgress, Map<string, { next: number; same: number }>>();
      const readsOf = (progress: JournalProgress) => {
        const known = reads.get(progress) ?? new Map<string, { next: number; same: number }>();
        reads.set(progress, known);
        return known;
      };
      replaceMethod(stack, JournalProgress, 'read', (read, progress, incarnation, head, times) => {
        read(incarnation, head, times);
        const before = readsOf(progress).get(incarnation) ?? { next: -1, same: 0 };
        const same = head.next === before.next ? before.same + 1 : 0;
        readsOf(progress).set(incarnation, { next: head.next, same });
      });
      replaceMethod(stack, JournalProgress, 'unread', (unread, progress, incarnation, nowMs) => {
        unread(incarnation, nowMs);
        const before = readsOf(progress).get(incarnation) ?? { next: -1, same: 0 };
        readsOf(progress).set(incarnation, { ...before, same: before.same + 1 });
      });
      replaceMethod(stack, JournalProgress, 'isStalled', (_original, progress, incarnation) => {
        return (readsOf(progress).get(incarnation)?.same ?? 0) >= SAME_READS;
      });
    },
  },
];
