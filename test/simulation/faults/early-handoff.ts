import { Checkpointer } from '#actor-runtime/checkpointer';
import { CommitLog } from '#actor-runtime/commit-log';
import { DirtyActors } from '#actor-runtime/dirty-actors';
import { HostedShards } from '#shards/hosted-shards';
import { skipWaits } from '#test/simulation/callers/replies';
import { replaceMethod } from '#test/simulation/faults/replace-method';

/**
 * Flaw: a handoff does not wait for appends in flight. The handoff stores only actors whose records
 * are all durable, and then releases the shard.
 */
export function handOffEarly(stack: DisposableStack): void {
  const isDurable = durableActivations(stack);
  replaceMethod(stack, Checkpointer, 'storeAll', (store, _checkpointer, wanted) => {
    return store(() => [...wanted()].filter(isDurable));
  });
  const isGivingAway = handoffs(stack);
  // A closing shard waits for the newest record of the log; the flaw skips this wait.
  skipWaits(stack, (log, offset) => isGivingAway() && offset === log.added);
}

/** Returns a function that reports whether all records of an activation are durable. */
function durableActivations(stack: DisposableStack) {
  const logs = new WeakMap<object, CommitLog>();
  let lastLog: CommitLog | undefined;
  replaceMethod(stack, CommitLog, 'add', (add, log, ...args) => {
    lastLog = log;
    return add(...args);
  });
  replaceMethod(stack, DirtyActors, 'changed', (changed, _dirty, activation, ...rest) => {
    if (lastLog !== undefined) logs.set(activation, lastLog);
    changed(activation, ...rest);
  });
  return (activation: { readonly offset: number }) =>
    logs.get(activation)?.isDurable(activation.offset) ?? true;
}

/**
 * Returns a function that reports whether a shard is closing and no tail recovery is running. Tail
 * recovery also waits for the newest record, and the flaw must not skip that wait.
 */
function handoffs(stack: DisposableStack): () => boolean {
  let closing = 0;
  let recovering = 0;
  replaceMethod(stack, HostedShards, 'recoverTail', (recoverTail, _shards, owner, claims) => {
    recovering += 1;
    return recoverTail(owner, claims).finally(() => {
      recovering -= 1;
    });
  });
  replaceMethod(stack, HostedShards, 'closeShard', (close, _shards, ...args) => {
    closing += 1;
    return close(...args).finally(() => {
      closing -= 1;
    });
  });
  return () => closing > 0 && recovering === 0;
}
