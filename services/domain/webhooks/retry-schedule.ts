/** Nominal waits before the second and each later attempt, in seconds; about three days in all. */
const WAITS_S = [5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400, 68_400, 75_600];

/** Number of attempts before a message is listed as failed. */
export const ATTEMPTS_MAX = WAITS_S.length + 1;

/** Random part of a wait. It spreads the retries of endpoints that failed at the same time. */
const JITTER = 0.2;

/** Maximum wait that an endpoint can ask for, in seconds: one hour. */
const ASKED_S_MAX = 3_600;

/**
 * Wait after `attempts` failed attempts, in milliseconds. `random`: uniform in [0, 1). `askedS`: the
 * wait that the endpoint asked for.
 */
export function waitMs(attempts: number, random: number, askedS = 0): number {
  const nominal = WAITS_S[Math.min(attempts, WAITS_S.length) - 1] ?? 0;
  const jittered = nominal * (1 - JITTER / 2 + JITTER * random);
  return 1_000 * Math.max(jittered, Math.min(askedS, ASKED_S_MAX));
}

/** Number of seconds in a header `Retry-After`, from a number or a date; 0 if it is unusable. */
export function retryAfterS(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? 0 : Math.max(0, (atMs - nowMs) / 1_000);
}
