import { HostedTurn } from '#actor-runtime/activation';
import { CommitLog } from '#actor-runtime/commit-log';
import { replaceMethod } from '#test/simulation/faults/replace-method';

/** A turn of any actor kind. */
export type AnyTurn = HostedTurn<unknown, never, unknown, unknown>;

/** Reports whether the current durability wait is the wait of an answer. */
function replies(stack: DisposableStack): { isReplying: () => boolean } {
  let isReply = false;
  replaceMethod(stack, HostedTurn, 'whenAnswerable', (when, _turn, offset) => {
    isReply = true;
    try {
      return when(offset);
    } finally {
      isReply = false;
    }
  });
  return { isReplying: () => isReply };
}

/** Flaw: skips durability waits selected by `isSkipped`, except when an answer waits. */
export function skipWaits(
  stack: DisposableStack,
  isSkipped: (log: CommitLog, offset: number) => boolean,
): void {
  const { isReplying } = replies(stack);
  replaceMethod(stack, CommitLog, 'whenDurable', async (when, log, offset) => {
    if (isReplying() || !isSkipped(log, offset)) await when(offset);
  });
}
