import { HostedShards } from '#node/hosted-shards';
import { Checkpointer } from '#runtime/checkpointer';
import { CommitLog } from '#runtime/commit-log';
import { DirtyActors } from '#runtime/dirty-actors';
import { replaceMethod } from '#test/simulation/replace-method';
import { type AnyCheckpointer, skipWaits } from '#test/simulation/replies';

type AnyDirtyActors = DirtyActors<unknown, never, unknown, unknown>;

/** Gives a shard away with what is durable, while the rest of it is still on its way. */
export function handOffEarly(stack: DisposableStack): void {
  const isDurable = durableActivations(stack);
  replaceMethod(
    stack,
    Checkpointer.prototype,
    'storeAll',
    (store) =>
      function (this: AnyCheckpointer, wanted) {
        return store.call(this, (activation) => wanted(activation) && isDurable(activation));
      },
  );
  const isGivingAway = handoffs(stack);
  skipWaits(stack, (log, offset) => isGivingAway() && offset === log.added);
}

/** Knows of each activation whether everything that it has committed is durable. */
function durableActivations(stack: DisposableStack) {
  const logs = new WeakMap<object, CommitLog>();
  let lastLog: CommitLog | undefined;
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
    DirtyActors.prototype,
    'changed',
    (changed) =>
      function (this: AnyDirtyActors, activation, ...rest) {
        if (lastLog !== undefined) logs.set(activation, lastLog);
        changed.call(this, activation, ...rest);
      },
  );
  return (activation: { readonly offset: number }) =>
    logs.get(activation)?.isDurable(activation.offset) ?? true;
}

/** Knows whether a shard is being closed, and no tail recovered. */
function handoffs(stack: DisposableStack): () => boolean {
  let closing = 0;
  let recovering = 0;
  replaceMethod(
    stack,
    HostedShards.prototype,
    'recoverTail',
    (recoverTail) =>
      function (this: HostedShards, owner, claims) {
        recovering += 1;
        return recoverTail.call(this, owner, claims).finally(() => {
          recovering -= 1;
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
  return () => closing > 0 && recovering === 0;
}
