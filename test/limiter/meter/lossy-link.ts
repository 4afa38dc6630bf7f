import fc from 'fast-check';
import { Fault } from '#errors/fault';
import { LIMITER_TIMEOUT_MS } from '#grpc/call-bounds';
import type { LimiterAnswer, LimiterCall, LimiterClient } from '#grpc/limiter-messages';
import type { ManualClock } from '#test/support/manual-clock';

/**
 * Delays of a message's copies, in milliseconds. An empty list loses the message. Different delays
 * reorder messages.
 */
export type CopyDelays = readonly number[];

/**
 * Mostly immediate delivery. Otherwise messages are lost, copied or delayed, some for longer than
 * the lifetime of a reservation.
 */
export const copyDelays: fc.Arbitrary<CopyDelays> = fc.oneof(
  { weight: 6, arbitrary: fc.constant([0]) },
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: fc.tuple(fc.nat(150)) },
  { weight: 1, arbitrary: fc.tuple(fc.nat(70_000)) },
  { weight: 1, arbitrary: fc.tuple(fc.nat(150), fc.nat(70_000)) },
);

/**
 * A link to a limiter that loses, repeats, delays and reorders messages. Callers get an unknown
 * outcome after 100 ms, as on a real connection.
 */
export function lossyLink(
  limiter: LimiterClient,
  clock: ManualClock,
  delaysOf: () => CopyDelays,
): LimiterClient {
  const deliver = (task: () => void): void => {
    for (const delayMs of delaysOf()) clock.after(delayMs, task);
  };
  return {
    ask(call: LimiterCall): Promise<LimiterAnswer> {
      const { promise, resolve, reject } = Promise.withResolvers<LimiterAnswer>();
      const timer = clock.after(LIMITER_TIMEOUT_MS, () => reject(unanswered()));
      deliver(() => {
        Promise.try(() => limiter.ask(call)).then(
          (answer) =>
            deliver(() => {
              timer[Symbol.dispose]();
              resolve(answer);
            }),
          (refusal: unknown) => deliver(() => reject(refusal)),
        );
      });
      return promise;
    },
  };
}

function unanswered(): Fault {
  return new Fault('service_unavailable', 'no answer', {
    reason: 'limiter_unavailable',
    isOutcomeUnknown: true,
  });
}
