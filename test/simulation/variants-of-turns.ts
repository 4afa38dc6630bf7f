import { InstanceKind } from '#engine/instance-kind';
import { InstanceSourcing } from '#engine/instance-sourcing';
import { Checkpointer } from '#runtime/checkpointer';
import { CommitLog } from '#runtime/commit-log';
import { HostedTurn } from '#runtime/hosted-turn';
import { RecentCalls } from '#runtime/recent-calls';
import { handOffEarly } from '#test/simulation/early-handoff';
import { Later } from '#test/simulation/later';
import { replaceMethod } from '#test/simulation/replace-method';
import { type AnyCheckpointer, type AnyTurn, skipWaits } from '#test/simulation/replies';
import { CRASHES, ISLANDS, MOVES, ROUGH, type Variant } from '#test/simulation/variant';

/** Calls that are remembered where only their number counts. */
const REMEMBERED = 2;

/** Lets answers go before what they rest on is durable: those of commits, or all others. */
function hasty(stack: DisposableStack, isOfCommit: boolean): void {
  const committed = new WeakSet<object>();
  replaceMethod(
    stack,
    HostedTurn.prototype,
    'commit',
    (commit) =>
      function (this: AnyTurn, event) {
        committed.add(this);
        return commit.call(this, event);
      },
  );
  replaceMethod(
    stack,
    HostedTurn.prototype,
    'whenAnswerable',
    (when) =>
      async function (this: AnyTurn, offset) {
        if (committed.has(this) !== isOfCommit) await when.call(this, offset);
      },
  );
}

/** Lets flushes begin before the records are durable. */
function flushEarly(stack: DisposableStack): void {
  let isFlushing = false;
  const flushing = <Result>(flush: () => Result): Result => {
    isFlushing = true;
    try {
      return flush();
    } finally {
      isFlushing = false;
    }
  };
  const { prototype } = Checkpointer;
  type Started = AnyCheckpointer['startDue'] & AnyCheckpointer['storeSoon'];
  for (const name of ['startDue', 'storeSoon'] as const) {
    replaceMethod(
      stack,
      prototype,
      name,
      (start) =>
        function (this: AnyCheckpointer, ...args: Parameters<Started>) {
          flushing(() => (start as Started).apply(this, args));
        } as Started,
    );
  }
  replaceMethod(
    stack,
    prototype,
    'storeAll',
    (store) =>
      function (this: AnyCheckpointer, wanted) {
        return flushing(() => store.call(this, wanted));
      },
  );
  skipWaits(stack, () => isFlushing);
}

/** What can be wrong with turns, answers and what actors remember. */
export const TURN_VARIANTS: readonly Variant[] = [
  { name: 'reply before durable', requested: CRASHES, spoil: (stack) => hasty(stack, true) },
  {
    name: 'read or refusal before durable',
    requested: CRASHES,
    spoil: (stack) => hasty(stack, false),
  },
  {
    name: 'flush before durable',
    requested: { ...ROUGH, only: ['kill', 'pause', 'storeCut'], count: 14, loadMs: 45_000 },
    spoil: (stack) => flushEarly(stack),
  },
  {
    name: 'handoff that does not wait for appends in flight',
    requested: MOVES,
    spoil: (stack) => handOffEarly(stack),
  },
  {
    name: 'read without lease',
    requested: { ...ISLANDS, only: ['storeCut', 'edgeBusCut'], count: 16 },
    spoil: (stack) => replaceMethod(stack, CommitLog.prototype, 'isLeased', () => () => true),
  },
  {
    name: 'request ids remembered by count only',
    requested: CRASHES,
    spoil: (stack) => {
      const last = new WeakMap<RecentCalls, number[]>();
      replaceMethod(
        stack,
        RecentCalls.prototype,
        'add',
        (add) =>
          function (this: RecentCalls, callId, version, monotonicMs) {
            add.call(this, callId, version, monotonicMs);
            last.set(this, [...(last.get(this) ?? []), callId].slice(-REMEMBERED));
          },
      );
      replaceMethod(
        stack,
        RecentCalls.prototype,
        'versionOf',
        (versionOf) =>
          function (this: RecentCalls, callId, monotonicMs) {
            const version = versionOf.call(this, callId, monotonicMs);
            return last.get(this)?.includes(callId) ? version : undefined;
          },
      );
    },
  },
  {
    name: 'request ids forgotten in recovery',
    requested: CRASHES,
    spoil: (stack) => replaceMethod(stack, RecentCalls.prototype, 'restore', () => () => undefined),
  },
  {
    name: 'key lookup outside the turn',
    requested: MOVES,
    spoil: (stack) => {
      const offsets = new WeakMap<object, number>();
      let added = 0;
      replaceMethod(
        stack,
        CommitLog.prototype,
        'add',
        (add) =>
          function (this: CommitLog, ...args) {
            added = add.apply(this, args);
            return added;
          },
      );
      replaceMethod(
        stack,
        HostedTurn.prototype,
        'commit',
        (commit) =>
          function (this: AnyTurn, event) {
            const offset = commit.call(this, event);
            offsets.set(this, added);
            return offset;
          },
      );
      replaceMethod(
        stack,
        InstanceKind.prototype,
        'receive',
        (receive) =>
          function (this: InstanceKind, state, call, turn) {
            const answer = receive.call(this, state, call, turn);
            if (!(answer instanceof Promise)) return answer;
            const held = answer.then(async (found) => {
              await (turn as AnyTurn).whenAnswerable(offsets.get(turn) ?? 0);
              return found;
            });
            // Not a promise to the host, so that the actor goes on with others meanwhile.
            return new Later(held) as unknown as typeof answer;
          },
      );
    },
  },
  {
    name: 'directory not notified again in recovery',
    requested: ROUGH,
    spoil: (stack) =>
      replaceMethod(stack, InstanceSourcing.prototype, 'effectAfterReplay', () => () => undefined),
  },
];
