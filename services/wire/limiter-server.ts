import { type Clock, systemClock } from '#platform/clock';
import type { CallObserver } from '#wire/frame-server';
import { frameService } from '#wire/frame-service';
import { LimiterService } from '#wire/gen/identity_engine/v1/limiter';
import { limiterReplyOf, limiterServerProtocol } from '#wire/limiter-codec';
import type { LimiterClient } from '#wire/limiter-messages';
import { CALLS_AT_WORK_MAX } from '#wire/wire-bounds';
import type { WireService } from '#wire/wire-service';

/** What a served limiter takes from outside. */
export type LimiterServerOptions = {
  readonly clock?: Clock;
  /** Calls of one stream whose answers are not there yet; beyond it they are refused. */
  readonly callsAtWorkMax?: number;
  /** Hears of what is not a `Fault`: our bugs, and what peers should not have sent. */
  readonly reportBug?: (error: unknown) => void;
  readonly observer?: CallObserver;
};

/** `limiter` as the service that `connectLimiter` speaks to, and the unary `Ask` for tools. */
export function limiterServer(
  limiter: LimiterClient,
  options: LimiterServerOptions = {},
): WireService {
  const { reportBug = () => undefined } = options;
  return frameService(
    {
      name: 'identity_engine.v1.Limiter',
      exchangePath: LimiterService.exchange.path,
      ask: LimiterService.ask,
      replyOf: limiterReplyOf,
    },
    {
      protocol: limiterServerProtocol,
      handler: (call) => limiter.ask(call),
      clock: options.clock ?? systemClock,
      callsAtWorkMax: options.callsAtWorkMax ?? CALLS_AT_WORK_MAX,
      reportBug,
      observer: options.observer,
    },
  );
}
