import { HostedTurn } from '#actor-runtime/activation';
import { CommitLog } from '#actor-runtime/commit-log';
import { replaceMethod } from '#test/simulation/faults/replace-method';

/** A turn of any actor. */
export type AnyTurn = HostedTurn<unknown, never, unknown, unknown>;

/** Tracks whether a durability wait belongs to an answer. */
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

/** Flaw: skips durability waits, except those of answers, if `isSkipped`. */
export function skipWaits(
  stack: DisposableStack,
  isSkipped: (log: CommitLog, offset: number) => boolean,
): void {
  const { isReplying } = replies(stack);
  replaceMethod(stack, CommitLog, 'whenDurable', async (when, log, offset) => {
    if (isReplying() || !isSkipped(log, offset)) await when(offset);
  });
}
