import type { Checkpointer } from '#runtime/checkpointer';
import { HostedTurn } from '#runtime/hosted-turn';
import { replaceMethod } from '#test/simulation/replace-method';

/** A turn of whatever kind of actor. */
export type AnyTurn = HostedTurn<unknown, never, unknown, unknown>;

/** A checkpointer of whatever kind of actor. */
export type AnyCheckpointer = Checkpointer<unknown, never, unknown, unknown>;

/** Knows whether it is an answer that asks when something is durable. */
export function replies(stack: DisposableStack): { isReplying: () => boolean } {
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
