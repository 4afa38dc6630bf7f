import { InstanceKind } from '#engine/instance-kind';
import { HostedShards } from '#node/hosted-shards';
import { Checkpointer } from '#runtime/checkpointer';
import { CommitLog } from '#runtime/commit-log';
import { HostedTurn } from '#runtime/hosted-turn';
import { RecentCalls } from '#runtime/recent-calls';
import { Later } from '#test/simulation/later';
import { replaceMethod } from '#test/simulation/replace-method';
import { CRASHES, ISLANDS, MOVES, ROUGH, type Variant } from '#test/simulation/variant';

type AnyTurn = HostedTurn<unknown, never, unknown, unknown>;
type AnyCheckpointer = Checkpointer<unknown, never, unknown, unknown>;

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

/** Knows whether it is an answer that asks when something is durable. */
function replies(stack: DisposableStack): { isReplying: () => boolean } {
  let isReply = false;
  replaceMethod(
    stack,
    HostedTurn.prototype,
    'whenAnswerable',
    (when) =>
      function (this: AnyTurn, offset) {
        isReply = true;
        try {
          return when.call(this, offset);
        } finally {
          isReply = false;
        }
      },
  );
  return { isReplying: () => isReply };
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
  replaceMethod(
    stack,
    prototype,
    'startDue',
    (start) =>
      function (this: AnyCheckpointer, nowMs) {
        flushing(() => start.call(this, nowMs));
      },
  );
  replaceMethod(
    stack,
    prototype,
    'storeSoon',
    (start) =>
      function (this: AnyCheckpointer, activation) {
        flushing(() => start.call(this, activation));
      },
  );
  replaceMethod(
    stack,
    prototype,
    'storeAll',
    (store) =>
      function (this: AnyCheckpointer, wanted) {
        return flushing(() => store.call(this, wanted));
      },
  );
  const { isReplying } = replies(stack);
  replaceMethod(
    stack,
    CommitLog.prototype,
    'whenDurable',
    (when) =>
      async function (this: CommitLog, offset) {
        if (isReplying() || !isFlushing) await when.call(this, offset);
      },
  );
}

/** Gives a shard away with what is durable, while the rest of it is still on its way. */
function handOverEarly(stack: DisposableStack): void {
  const logs = new WeakMap<object, CommitLog>();
  let lastLog: CommitLog | undefined;
  let closing = 0;
  let adopting = 0;
  replaceMethod(
    stack,
    CommitLog.prototype,
    'add',
    (add) =>
      function (this: CommitLog, ...args) {
        lastLog = this;
        return add.apply(this, args);
      },
  );
  replaceMethod(
    stack,
    Checkpointer.prototype,
    'changed',
    (changed) =>
      function (this: AnyCheckpointer, activation, ...rest) {
        if (lastLog !== undefined) logs.set(activation, lastLog);
        changed.call(this, activation, ...rest);
      },
  );
  replaceMethod(
    stack,
    Checkpointer.prototype,
    'storeAll',
    (store) =>
      function (this: AnyCheckpointer, wanted) {
        const isDurable = (activation: Parameters<typeof wanted>[0]) =>
          logs.get(activation)?.isDurable(activation.offset) ?? true;
        return store.call(this, (activation) => wanted(activation) && isDurable(activation));
      },
  );
  replaceMethod(
    stack,
    HostedShards.prototype,
    'recoverTail',
    (recoverTail) =>
      function (this: HostedShards, owner, claims) {
        adopting += 1;
        return recoverTail.call(this, owner, claims).finally(() => {
          adopting -= 1;
        });
      },
  );
  replaceMethod(
    stack,
    HostedShards.prototype,
    'closeShard',
    (close) =>
      function (this: HostedShards, ...args) {
        closing += 1;
        return close.apply(this, args).finally(() => {
          closing -= 1;
        });
      },
  );
  const { isReplying } = replies(stack);
  replaceMethod(
    stack,
    CommitLog.prototype,
    'whenDurable',
    (when) =>
      async function (this: CommitLog, offset) {
        const isClosing = closing > 0 && adopting === 0 && offset === this.added;
        if (isReplying() || !isClosing) await when.call(this, offset);
      },
  );
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
    name: 'hand-over that does not wait for appends in flight',
    requested: MOVES,
    spoil: (stack) => handOverEarly(stack),
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
            const place = commit.call(this, event);
            offsets.set(this, added);
            return place;
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
    name: 'directory not told again in recovery',
    requested: ROUGH,
    spoil: (stack) =>
      replaceMethod(stack, InstanceKind.prototype, 'effectAfterReplay', () => () => undefined),
  },
];
