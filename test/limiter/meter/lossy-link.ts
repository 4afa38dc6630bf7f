import fc from 'fast-check';
import { Fault } from '#errors/fault';
import { LIMITER_TIMEOUT_MS } from '#grpc/call-bounds';
import type { LimiterAnswer, LimiterCall, LimiterClient } from '#grpc/limiter-messages';
import type { ManualClock } from '#test/support/manual-clock';

/**
 * Fate of one message: the delays, in milliseconds, after which its copies arrive. None: it is
 * lost. Different delays reorder messages.
 */
export type Fate = readonly number[];

/** Mostly without faults; otherwise delays beyond the age of a reservation. */
export const fates: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 6, arbitrary: fc.constant([0]) },
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: fc.tuple(fc.nat(150)) },
  { weight: 1, arbitrary: fc.tuple(fc.nat(70_000)) },
  { weight: 1, arbitrary: fc.tuple(fc.nat(150), fc.nat(70_000)) },
);

/**
 * A link to a limiter that loses, repeats, delays and reorders messages. After 100 ms a caller gets
 * an unknown outcome, as on a real connection.
 */
export function lossyLink(
  limiter: LimiterClient,
  clock: ManualClock,
  fateOf: () => Fate,
): LimiterClient {
  const deliver = (task: () => void): void => {
    for (const delayMs of fateOf()) clock.after(delayMs, task);
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
