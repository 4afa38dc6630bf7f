import fc from 'fast-check';
import { Fault } from '#errors/fault';
import { LIMITER_TIMEOUT_MS } from '#grpc/bounds';
import type { LimiterAnswer, LimiterCall, LimiterClient } from '#grpc/limiter-messages';
import type { ManualClock } from '#test/support/manual-clock';

/**
 * What becomes of one message: the delays, in milliseconds, after which copies of it arrive. None: it
 * is lost. Delays that differ put it behind later ones.
 */
export type Fate = readonly number[];

/** Mostly all is well; else delays up to beyond the age of a reservation. */
export const fates: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 6, arbitrary: fc.constant([0]) },
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: fc.tuple(fc.nat(150)) },
  { weight: 1, arbitrary: fc.tuple(fc.nat(70_000)) },
  { weight: 1, arbitrary: fc.tuple(fc.nat(150), fc.nat(70_000)) },
);

/**
 * A way to a limiter on which messages are lost, doubled, delayed and overtaken; a caller learns
 * after 100 ms that the outcome is unknown, as by a real connection.
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
