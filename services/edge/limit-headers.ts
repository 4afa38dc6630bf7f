import type { Allowance } from '#wire/limiter-messages';

/** Response headers by name. */
export type Headers = Record<string, string | number>;

/** Length of the window of requests. Its end is shown in whole seconds, up to one later. Source: interface 8.1. */
const WINDOW_S = 60;

/** Seconds after which an unknown caller may look again. */
const UNKNOWN_RESET_S = 60;

/** Seconds after which a limiter that was not sure may be asked again. Source: decision 24. */
export const UNSURE_RESET_S = 2;

/** Whole seconds until a Unix time in seconds, never a moment too short. */
export function secondsUntil(timeS: number, nowMs: number): number {
  return Math.max(0, Math.ceil(timeS - nowMs / 1_000));
}

/** Unix second at which the window ends, as the headers show it: never in the past. */
export function windowResetS({ windowResetAtS }: Allowance, nowMs: number): number {
  return Math.max(windowResetAtS, Math.ceil(nowMs / 1_000));
}

/** Whole seconds until the window ends, at most its length. */
export function windowLeftS(allowance: Allowance, nowMs: number): number {
  return Math.min(WINDOW_S, secondsUntil(windowResetS(allowance, nowMs), nowMs));
}

/** The headers for a known caller: interface 8.2 and the IETF pair. */
export function limitHeaders(allowance: Allowance, nowMs: number): Headers {
  const { requestsPerMinute, requestsRemaining, cyclesPerMonth, cyclesRemaining } = allowance;
  const resetAtS = windowResetS(allowance, nowMs);
  const minute = `"minute";r=${requestsRemaining};t=${windowLeftS(allowance, nowMs)}`;
  const month = `"month";r=${cyclesRemaining};t=${secondsUntil(allowance.monthResetAtS, nowMs)}`;
  return {
    'x-ratelimit-limit': requestsPerMinute,
    'x-ratelimit-remaining': requestsRemaining,
    'x-ratelimit-reset': resetAtS,
    'x-monthly-remaining': cyclesRemaining,
    'ratelimit-policy': `"minute";q=${requestsPerMinute};w=${WINDOW_S}, "month";q=${cyclesPerMonth};qu="cycles"`,
    ratelimit: `${minute}, ${month}`,
  };
}

/** The headers where no caller is known: never another account's numbers. */
export function unknownHeaders(nowMs: number): Headers {
  return {
    'x-ratelimit-limit': 0,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': Math.ceil(nowMs / 1_000) + UNKNOWN_RESET_S,
    'x-monthly-remaining': 0,
  };
}

/** The headers where the limiter was not sure: never more than the truth. Source: decision 24. */
export function unsureHeaders(lastKnown: Allowance | undefined, nowMs: number): Headers {
  return {
    'x-ratelimit-limit': lastKnown?.requestsPerMinute ?? 0,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': Math.ceil(nowMs / 1_000) + UNSURE_RESET_S,
    'x-monthly-remaining': lastKnown?.cyclesRemaining ?? 0,
  };
}
