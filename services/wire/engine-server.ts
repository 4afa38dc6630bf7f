import { type Clock, systemClock } from '#platform/clock';
import { engineReplyOf, engineServerProtocol } from '#wire/engine-codec';
import type { EngineClient } from '#wire/engine-messages';
import type { CallObserver } from '#wire/frame-server';
import { frameService } from '#wire/frame-service';
import { EngineService } from '#wire/gen/identity_engine/v1/engine';
import { CALLS_AT_WORK_MAX } from '#wire/wire-bounds';
import type { WireService } from '#wire/wire-service';

/** What a served engine takes from outside. */
export type EngineServerOptions = {
  readonly clock?: Clock;
  /** Calls of one stream whose answers are not there yet; beyond it they are refused. */
  readonly callsAtWorkMax?: number;
  /** Hears of what is not a `Fault`: our bugs, and what peers should not have sent. */
  readonly reportBug?: (error: unknown) => void;
  readonly observer?: CallObserver;
};

/** `engine` as the service that `connectEngine` speaks to, and the unary `Ask` for tools. */
export function engineServer(engine: EngineClient, options: EngineServerOptions = {}): WireService {
  const { reportBug = () => undefined } = options;
  return frameService(
    {
      name: 'identity_engine.v1.Engine',
      exchangePath: EngineService.exchange.path,
      ask: EngineService.ask,
      replyOf: engineReplyOf,
    },
    {
      protocol: engineServerProtocol,
      handler: (call) => engine.ask(call),
      clock: options.clock ?? systemClock,
      callsAtWorkMax: options.callsAtWorkMax ?? CALLS_AT_WORK_MAX,
      reportBug,
      observer: options.observer,
    },
  );
}
