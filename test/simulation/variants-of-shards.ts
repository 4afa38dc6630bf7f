import { Evidence } from '#cluster/failure-evidence';
import { JournalProgress } from '#cluster/journal-progress';
import { HostedShards } from '#node/hosted-shards';
import { RecoveredRecords } from '#node/recovered-records';
import { ActorHost } from '#runtime/actor-host';
import { replaceGetter, replaceMethod } from '#test/simulation/replace-method';
import {
  CRASHES,
  GONE,
  LONG,
  MOVES,
  RETURNS,
  STALLS,
  type Variant,
} from '#test/simulation/variant';

/** A journal that has not grown in this many reads in a row counts as stalled, whatever is slow. */
const SAME_READS = 2;

/** What can be wrong with sealing, taking over and handing over. */
export const SHARD_VARIANTS: readonly Variant[] = [
  {
    name: 'release before halt',
    requested: MOVES,
    spoil: (stack) =>
      replaceMethod(
        stack,
        HostedShards.prototype,
        'closeShard',
        (close) =>
          async function (this: HostedShards, ...args) {
            // The shard is given away while its doors are still open.
            close.apply(this, args).catch(() => undefined);
            const epoch = this.open.get(args[0]) ?? 1;
            this.openShard({ shard: args[0], epoch });
          },
      ),
  },
  {
    name: 're-open while closing',
    requested: MOVES,
    spoil: (stack) => {
      const reopened = new WeakMap<HostedShards, Set<number>>();
      replaceMethod(
        stack,
        HostedShards.prototype,
        'closeShard',
        (close) =>
          async function (this: HostedShards, ...args) {
            const [shard] = args;
            const epoch = this.open.get(shard) ?? 1;
            await close.apply(this, args);
            const before = reopened.get(this) ?? new Set();
            reopened.set(this, before);
            if (!before.has(shard)) this.openShard({ shard, epoch });
            before.add(shard);
          },
      );
    },
  },
  {
    name: 'opening without the records recovered for that epoch',
    requested: CRASHES,
    spoil: (stack) =>
      replaceMethod(
        stack,
        RecoveredRecords.prototype,
        'open',
        () =>
          function (this: RecoveredRecords, shard, epoch) {
            this.decide(shard, epoch);
          },
      ),
  },
  {
    name: 'low-water mark past recovered records',
    requested: LONG,
    spoil: (stack) =>
      replaceGetter(
        stack,
        RecoveredRecords.prototype,
        'lowest',
        () => () => Number.POSITIVE_INFINITY,
      ),
  },
  {
    name: 'claim before tail recovery is durable',
    requested: CRASHES,
    spoil: (stack) => {
      const waiting = new Set<() => void>();
      replaceMethod(
        stack,
        RecoveredRecords.prototype,
        'hold',
        (hold) =>
          function (this: RecoveredRecords, ...args) {
            hold.apply(this, args);
            for (const look of waiting) look();
          },
      );
      replaceMethod(
        stack,
        HostedShards.prototype,
        'recoverTail',
        (recoverTail) =>
          function (this: HostedShards, owner, claims) {
            return new Promise((resolve, reject) => {
              const look = (): void => {
                if (claims.every((claim) => this.isRecovered(claim))) resolve();
              };
              waiting.add(look);
              recoverTail
                .call(this, owner, claims)
                .then(resolve, reject)
                .finally(() => waiting.delete(look));
            });
          },
      );
    },
  },
  {
    name: 'release with recovered records not activated',
    requested: LONG,
    spoil: (stack) => {
      replaceMethod(stack, RecoveredRecords.prototype, 'hasWaiting', () => () => false);
      replaceMethod(stack, RecoveredRecords.prototype, 'waiting', () => () => []);
    },
  },
  {
    name: 'memory kept across a release',
    requested: RETURNS,
    spoil: (stack) => replaceMethod(stack, ActorHost.prototype, 'dropShard', () => () => undefined),
  },
  {
    name: 'lease waited for before the seal and not after',
    requested: GONE,
    spoil: (stack) =>
      replaceMethod(
        stack,
        Evidence.prototype,
        'openableMs',
        (openableMs) =>
          function (this: Evidence, incarnation) {
            return openableMs.call(this, incarnation) < Number.POSITIVE_INFINITY ? 0 : Infinity;
          },
      ),
  },
  {
    name: 'sealing without own progress',
    requested: STALLS,
    spoil: (stack) => {
      const reads = new WeakMap<JournalProgress, Map<string, { next: number; same: number }>>();
      const readsOf = (progress: JournalProgress) => {
        const known = reads.get(progress) ?? new Map<string, { next: number; same: number }>();
        reads.set(progress, known);
        return known;
      };
      replaceMethod(
        stack,
        JournalProgress.prototype,
        'read',
        (read) =>
          function (this: JournalProgress, incarnation, head, times) {
            read.call(this, incarnation, head, times);
            const before = readsOf(this).get(incarnation) ?? { next: -1, same: 0 };
            const same = head.next === before.next ? before.same + 1 : 0;
            readsOf(this).set(incarnation, { next: head.next, same });
          },
      );
      replaceMethod(
        stack,
        JournalProgress.prototype,
        'unread',
        (unread) =>
          function (this: JournalProgress, incarnation, nowMs) {
            unread.call(this, incarnation, nowMs);
            const before = readsOf(this).get(incarnation) ?? { next: -1, same: 0 };
            readsOf(this).set(incarnation, { ...before, same: before.same + 1 });
          },
      );
      replaceMethod(
        stack,
        JournalProgress.prototype,
        'isStalled',
        () =>
          function (this: JournalProgress, incarnation) {
            return (readsOf(this).get(incarnation)?.same ?? 0) >= SAME_READS;
          },
      );
    },
  },
];
