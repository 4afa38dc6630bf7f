/*
 * Checks the limit headers of an answer. Pure and without imports, because k6 runs the check for
 * every answer. Source: interface 8.2, limiter-headers.
 */

/** Parts of an answer that the check reads. */
export type LimitedAnswer = {
  readonly status: number;
  /** Headers by canonical name, as in k6: `X-Ratelimit-Limit`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Limits of the key's account. */
export type KnownLimits = { readonly requestsPerMinute: number; readonly cyclesPerMonth: number };

/** Tolerated clock difference between client and service, in seconds. */
const CLOCK_S = 2;

const WHOLE = /^\d+$/;

/** Integer value of a header; undefined if missing or not an integer. */
export function wholeHeader(answer: LimitedAnswer, name: string): number | undefined {
  const text = answer.headers[name] ?? '';
  return WHOLE.test(text) ? Number(text) : undefined;
}

/** End of the rate limit window, in Unix seconds; undefined if missing or not an integer. */
export function resetOf(answer: LimitedAnswer): number | undefined {
  return wholeHeader(answer, 'X-Ratelimit-Reset');
}

/** Problem in the limit headers of an answer to a valid key; undefined if correct. */
export function headersProblem(
  answer: LimitedAnswer,
  known: KnownLimits,
  nowS: number,
): string | undefined {
  const limit = wholeHeader(answer, 'X-Ratelimit-Limit');
  const remaining = wholeHeader(answer, 'X-Ratelimit-Remaining');
  const reset = resetOf(answer);
  const monthly = wholeHeader(answer, 'X-Monthly-Remaining');
  if (limit === undefined) return 'X-RateLimit-Limit is not an integer';
  if (remaining === undefined) return 'X-RateLimit-Remaining is not an integer';
  if (reset === undefined) return 'X-RateLimit-Reset is not an integer';
  if (monthly === undefined) return 'X-Monthly-Remaining is not an integer';
  if (reset < nowS - CLOCK_S) return `X-RateLimit-Reset ${reset} is in the past`;
  if (monthly > known.cyclesPerMonth) return `X-Monthly-Remaining ${monthly} is above the quota`;
  if (answer.status === 503) return retryProblem(answer);
  // The latest possible window starts with this request and lasts 60 s.
  if (reset > nowS + 60 + CLOCK_S) return `X-RateLimit-Reset ${reset} is more than a minute away`;
  if (limit !== known.requestsPerMinute) {
    return `X-RateLimit-Limit ${limit} is not the plan's ${known.requestsPerMinute}`;
  }
  if (answer.status === 429) return refusalProblem(answer, remaining, reset - nowS);
  return remaining < limit ? pairProblem(answer) : `X-RateLimit-Remaining ${remaining} of ${limit}`;
}

function refusalProblem(answer: LimitedAnswer, remaining: number, waitS: number) {
  if (!answer.body.includes('"rate_limited"')) return retryProblem(answer);
  if (remaining !== 0) return `429 with X-RateLimit-Remaining ${remaining}`;
  const retryS = wholeHeader(answer, 'Retry-After') ?? 0;
  if (retryS < waitS - CLOCK_S) return `Retry-After ${retryS} is earlier than X-RateLimit-Reset`;
  return retryProblem(answer);
}

/** Checks `Retry-After`, which the body of a 429 must repeat. */
function retryProblem(answer: LimitedAnswer): string | undefined {
  const retryS = wholeHeader(answer, 'Retry-After');
  if (retryS === undefined || retryS < 1) return `${answer.status} without Retry-After`;
  if (answer.status !== 429) return undefined;
  const said = /"retry_after":(\d+)/.exec(answer.body)?.[1];
  return said === `${retryS}` ? undefined : `Retry-After ${retryS}, but retry_after ${said}`;
}

function pairProblem({ headers }: LimitedAnswer): string | undefined {
  const has = headers['Ratelimit-Policy'] !== undefined && headers['Ratelimit'] !== undefined;
  return has ? undefined : 'RateLimit or RateLimit-Policy is missing';
}
