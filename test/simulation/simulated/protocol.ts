import { CALL_TIMEOUT_MS_MAX, LIMITER_TIMEOUT_MS } from '#grpc/call-bounds';
import type { EngineAnswer, EngineCall } from '#grpc/engine-messages';
import type { LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';
import type { Clock } from '#stdlib/clock';
import type { SimulatedListener } from '#test/simulation/simulated/listener';

/** Service-specific part of a connection, like `engineProtocol` and `limiterProtocol`. */
export type Protocol<Call, Answer> = {
  readonly unavailable: 'engine_unavailable' | 'limiter_unavailable';
  readonly timedOut: 'deadline_exceeded' | 'limiter_unavailable';
  /** Timeout of a call, in milliseconds. */
  readonly timeoutMsOf: (call: Call, clock: Clock) => number;
  /** The call as received. Deadlines are sent as remaining time, because clocks differ. */
  readonly arriving: (call: Call, clock: Clock, timeoutMs: number) => Call;
  /** Handler of the service at a listener, if any. */
  readonly serverOf: (
    listener: SimulatedListener,
  ) => { ask(call: Call): Answer | Promise<Answer> } | undefined;
  /** Name of the call in the trace. */
  readonly nameOf: (call: Call) => string;
};

/** Protocol of engine calls. */
export const ENGINE_CALLS: Protocol<EngineCall, EngineAnswer> = {
  unavailable: 'engine_unavailable',
  timedOut: 'deadline_exceeded',
  timeoutMsOf: ({ deadlineAtMs }, clock) =>
    Math.min(deadlineAtMs - clock.wallMs(), CALL_TIMEOUT_MS_MAX),
  arriving: (call, clock, timeoutMs) => ({ ...call, deadlineAtMs: clock.wallMs() + timeoutMs }),
  serverOf: ({ engine }) => engine,
  nameOf: ({ command, instanceId }) => `${command.kind} of ${instanceId}`,
};

/** Protocol of limiter calls. */
export const LIMITER_CALLS: Protocol<LimiterCall, LimiterAnswer> = {
  unavailable: 'limiter_unavailable',
  timedOut: 'limiter_unavailable',
  timeoutMsOf: () => LIMITER_TIMEOUT_MS,
  arriving: (call) => call,
  serverOf: ({ limiter }) => limiter,
  nameOf: ({ kind, accountId }) => `${kind} of ${accountId}`,
};
