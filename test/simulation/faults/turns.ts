import { HostedTurn, RecentCalls } from '#actor-runtime/activation';
import { Checkpointer, EarlyWriter } from '#actor-runtime/checkpointer';
import { CommitLog } from '#actor-runtime/commit-log';
import { RecentMessages } from '#bus/node-pull';
import { InstanceKind } from '#engine/instance/kind';
import { InstanceSourcing } from '#engine/instance/sourcing';
import { NO_TAGS } from '#storage/ports/instances';
import { type AnyTurn, skipWaits } from '#test/simulation/callers/replies';
import { handOffEarly } from '#test/simulation/faults/early-handoff';
import { replaceMethod } from '#test/simulation/faults/replace-method';
import { CRASHES, ISLANDS, MOVES, ROUGH, type Variant } from '#test/simulation/faults/variant';

/** A delayed answer that an actor host does not recognize as a promise. */
class Later {
  readonly #answer: Promise<unknown>;

  constructor(answer: Promise<unknown>) {
    this.#answer = answer;
  }

  // biome-ignore lint/suspicious/noThenProperty: awaitable, but no promise
  get then() {
    return this.#answer.then.bind(this.#answer);
  }
}

/** Number of call ids that the flawed memory keeps. */
const REMEMBERED = 2;

/**
 * Flaw: sends answers before records are durable. If `isOfCommit`, affects only calls that commit
 * an event; otherwise, affects only all other calls.
 */
function hasty(stack: DisposableStack, isOfCommit: boolean): void {
  const committed = new WeakSet<object>();
  replaceMethod(stack, HostedTurn, 'commit', (commit, turn, event) => {
    committed.add(turn);
    return commit(event);
  });
  replaceMethod(stack, HostedTurn, 'whenAnswerable', async (when, turn, offset) => {
    if (committed.has(turn) !== isOfCommit) await when(offset);
  });
}

/** Flaw: stores early answers before their records are durable. */
function storeAnswersEarly(stack: DisposableStack): void {
  let isStarting = false;
  replaceMethod(stack, EarlyWriter, 'startDue', (start, _writer, onWritten) => {
    isStarting = true;
    start(onWritten);
    isStarting = false;
  });
  skipWaits(stack, () => isStarting);
}

/** Flaw: starts checkpoints before the records are durable. */
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
  replaceMethod(stack, Checkpointer, 'startDue', (start, _checkpointer, monotonicMs) => {
    flushing(() => start(monotonicMs));
  });
  replaceMethod(stack, Checkpointer, 'storeSoon', (store, _checkpointer, activation) => {
    flushing(() => store(activation));
  });
  replaceMethod(stack, Checkpointer, 'storeAll', (store, _checkpointer, wanted) => {
    return flushing(() => store(wanted));
  });
  skipWaits(stack, () => isFlushing);
}

/**
 * Flaw: reads need no read lease. Without pulls, because an edge without the bus would ask the old
 * owner only for half a second more.
 */
function readWithoutLease(stack: DisposableStack): void {
  replaceMethod(stack, CommitLog, 'isLeased', () => true);
  replaceMethod(stack, RecentMessages, 'since', () => ({ messages: [], last: 0 }));
}

/** Flaws in turns, answers and actor memory. */
export const TURN_VARIANTS: readonly Variant[] = [
  {
    name: 'reply to a commit before its record is durable',
    requested: CRASHES,
    spoil: (stack) => hasty(stack, true),
  },
  {
    name: 'read or refusal before earlier records are durable',
    requested: CRASHES,
    spoil: (stack) => hasty(stack, false),
  },
  {
    name: 'checkpoint started before its records are durable',
    requested: { ...ROUGH, only: ['kill', 'pause', 'storeCut'], count: 14, loadMs: 45_000 },
    spoil: (stack) => flushEarly(stack),
  },
  {
    name: 'early answer stored before its record is durable',
    requested: { ...ROUGH, count: 20, loadMs: 30_000, keyed: 1, store: { answerLost: 0.1 } },
    spoil: (stack) => storeAnswersEarly(stack),
  },
  {
    name: 'handoff that does not wait for appends in flight',
    requested: MOVES,
    spoil: (stack) => handOffEarly(stack),
  },
  {
    name: 'read answered without a read lease',
    requested: { ...ISLANDS, only: ['storeCut', 'edgeBusCut'], count: 16 },
    spoil: (stack) => readWithoutLease(stack),
  },
  {
    name: 'request ids remembered by count only',
    requested: CRASHES,
    spoil: (stack) => {
      const last = new WeakMap<RecentCalls, number[]>();
      replaceMethod(stack, RecentCalls, 'add', (add, calls, callId, version, monotonicMs) => {
        add(callId, version, monotonicMs);
        last.set(calls, [...(last.get(calls) ?? []), callId].slice(-REMEMBERED));
      });
      replaceMethod(stack, RecentCalls, 'versionOf', (versionOf, calls, callId, monotonicMs) => {
        const version = versionOf(callId, monotonicMs);
        return last.get(calls)?.includes(callId) ? version : undefined;
      });
    },
  },
  {
    name: 'request ids forgotten in recovery',
    requested: CRASHES,
    spoil: (stack) => replaceMethod(stack, RecentCalls, 'restore', () => undefined),
  },
  {
    name: 'key lookup outside the turn',
    requested: MOVES,
    spoil: (stack) => {
      const offsets = new WeakMap<object, number>();
      let added = 0;
      replaceMethod(stack, CommitLog, 'add', (add, _log, ...args) => {
        added = add(...args);
        return added;
      });
      replaceMethod(stack, HostedTurn, 'commit', (commit, turn, event) => {
        const offset = commit(event);
        offsets.set(turn, added);
        return offset;
      });
      replaceMethod(stack, InstanceKind, 'receive', (receive, _kind, state, call, turn) => {
        const answer = receive(state, call, turn);
        if (!(answer instanceof Promise)) return answer;
        const held = answer.then(async (found) => {
          await (turn as AnyTurn).whenAnswerable(offsets.get(turn) ?? 0);
          return found;
        });
        // The host must not recognize a promise, so that the actor continues with other calls.
        return new Later(held) as unknown as typeof answer;
      });
    },
  },
  {
    name: 'deletion later than the promised time',
    requested: { ...CRASHES, checkpointAgeMs: 120_000, isDeletionTimed: true },
    spoil: (stack) => replaceMethod(stack, InstanceSourcing, 'isUrgent', () => false),
  },
  {
    name: 'directory not notified again in recovery',
    requested: ROUGH,
    spoil: (stack) => replaceMethod(stack, InstanceSourcing, 'effectAfterReplay', () => undefined),
  },
  {
    name: 'change of the name that drops the tags',
    requested: MOVES,
    spoil: (stack) =>
      replaceMethod(stack, InstanceSourcing, 'apply', (apply, _sourcing, state, event, ...rest) => {
        const { change } = event;
        const isUntagged = change.kind === 'renamed' && change.tagsJson === undefined;
        const dropping = isUntagged ? { ...change, tagsJson: NO_TAGS } : change;
        return apply(state, { ...event, change: dropping }, ...rest);
      }),
  },
  {
    name: 'tags forgotten in recovery',
    requested: CRASHES,
    spoil: (stack) =>
      replaceMethod(stack, InstanceSourcing, 'read', (read, _sourcing, record) => {
        const event = read(record);
        const { change } = event;
        if (change.kind !== 'created' && change.kind !== 'renamed') return event;
        const { tagsJson: _, ...untagged } = change;
        return { ...event, change: untagged };
      }),
  },
];
