import { type Response, request } from 'k6/http';
import { Counter, Rate, Trend } from 'k6/metrics';
import { headersProblem, type KnownLimits, resetOf, wholeHeader } from './limit-headers.ts';
import { answerProblem, cyclesOf, type Kind, MIX, requestOf, wantedCyclesOf } from './mix.ts';

/*
 * Sends the load's calls in k6 and records their metrics. Every call adds to every metric, at least
 * 0, so that a missing metric means that nothing was measured.
 */

const available = new Rate('available');
const wrongAnswers = new Counter('wrong_answers');
const headersExact = new Rate('headers_exact');
const cycles = new Counter('cycles');
const cyclesUnknown = new Counter('cycles_unknown');
const throttled = new Counter('throttled');
const failClosed = new Counter('fail_closed');
const refusalRetryable = new Rate('refusal_retryable');
const refusalDuration = new Trend('refusal_duration', true);
const limiterAdmitted = new Counter('limiter_admitted');
const limiterRefused = new Counter('limiter_refused');
const limiterRemaining = new Counter('limiter_remaining');
const monthCycles = new Counter('month_cycles');
const monthRefused = new Counter('month_refused');

/**
 * Request timeout, longer than the service's deadline of 10 s. After a timeout, the status is 0.
 */
const TIMEOUT = '15s';

/**
 * Complaints that this virtual user has printed, without digits. Each complaint is printed only the
 * first time; counters count every failure.
 */
const complained = new Set<string>();

/** Key and limits of a call's account. */
export type Account = { readonly key: string; readonly limits: KnownLimits };

/** The headers of a call. */
export function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/** An answer with a text body. The text is empty if k6 received no body. */
export type Answer = Response & { readonly body: string };

function sent(
  wanted: { method: string; url: string; body?: string | undefined; route: string },
  { key, limits }: Account,
): Answer {
  const { method, url, body, route } = wanted;
  const params = { headers: headersOf(key), tags: { name: route, part: 'load' }, timeout: TIMEOUT };
  const response = request(method, url, body, params);
  const answer = { ...response, body: response.body ?? '' };
  const { status } = answer;
  available.add(status > 0 && status < 500);
  if (status > 0) {
    const problem = headersProblem(answer, limits, Date.now() / 1_000);
    headersExact.add(problem === undefined);
    if (problem !== undefined) complain(`limit headers: ${problem}`);
  }
  if (status === 0 || status >= 500) {
    // Record a missing answer as a refusal without `Retry-After`.
    refusalRetryable.add(status === 503 && wholeHeader(answer, 'Retry-After') !== undefined);
    if (status > 0) refusalDuration.add(response.timings.duration);
  }
  failClosed.add(status === 503 && answer.body.includes('limiter_unavailable') ? 1 : 0);
  return answer;
}

/**
 * Prints a complaint the first time. Status and message help to find the call in the service's log.
 */
function complain(what: string): void {
  if (complained.has(what.replace(/\d+/g, ''))) return;
  complained.add(what.replace(/\d+/g, ''));
  console.error(`wrong: ${what}`);
}

function countAnswer(kind: Kind, answer: Answer, problem: string | undefined): void {
  const { status, body } = answer;
  wrongAnswers.add(problem === undefined ? 0 : 1);
  if (problem !== undefined) complain(`${problem}, ${status} ${body.slice(0, 200)}`);
  const isThrottled = answer.headers['X-Throttled'] === 'true';
  throttled.add(isThrottled ? 1 : 0);
  cycles.add(status === 200 ? cyclesOf(kind, body, isThrottled) : 0);
  cyclesUnknown.add(status === 0 || status >= 500 ? wantedCyclesOf(kind) : 0);
}

/** Parameters of a call in the mix. */
export type Wanted = {
  readonly kind: Kind;
  readonly base: string;
  readonly id: string;
  readonly n: number;
  readonly instance: number;
  readonly second: number;
};

/** Sends a call of the mix. Valid answers are 200, 503 and a missing answer. */
export function callOfMix({ kind, base, id, ...place }: Wanted, account: Account): void {
  const { method, route } = MIX[kind];
  const { path, body } = requestOf(kind, id, place);
  const answer = sent({ method, url: base + path, body, route }, account);
  countAnswer(kind, answer, problemOf(answer, kind, id));
}

function problemOf({ status, body }: Answer, kind: Kind, id: string): string | undefined {
  if (status === 200) return answerProblem(kind, id, body);
  return status === 0 || status === 503 ? undefined : `${kind}: unexpected status`;
}

/**
 * Sends a call of the minute account, whose limit per minute the run tests. A 429 is also valid:
 * the verdict counts admitted calls per minute.
 */
export function callOfMinute(base: string, account: Account, firstResetS: number): void {
  const route = '/v1/personas';
  const answer = sent({ method: 'GET', url: base + route, route }, account);
  const { status, body } = answer;
  const isRight = status === 200 || status === 0 || status === 503 || isRefusal(answer);
  countAnswer('list', answer, isRight ? undefined : `personas: ${status} ${body.slice(0, 60)}`);
  noteWindow(answer, firstResetS);
}

function isRefusal({ status, body }: Answer): boolean {
  return status === 429 && body.includes('"rate_limited"');
}

/**
 * Counts an answer of the minute account in its rate limit window. The window's end identifies the
 * window.
 */
export function noteWindow(answer: Answer | Response, firstResetS: number): void {
  const reset = resetOf({ ...answer, body: '' });
  if (reset === undefined || answer.status === 503) return;
  const tags = { window: String(Math.round((reset - firstResetS) / 60)) };
  const isRefused = answer.status === 429;
  limiterAdmitted.add(isRefused ? 0 : 1, tags);
  limiterRefused.add(isRefused ? 1 : 0, tags);
  const remaining = wholeHeader({ ...answer, body: '' }, 'X-Ratelimit-Remaining') ?? 0;
  limiterRemaining.add(isRefused ? 0 : remaining, tags);
}

/** Sends a process call of the account that exhausts its month quota. */
export function callOfMonth(wanted: Omit<Wanted, 'kind'>, account: Account): void {
  const { base, id, ...place } = wanted;
  const { method, route } = MIX.process;
  const { path, body } = requestOf('process', id, place);
  const answer = sent({ method, url: base + path, body, route }, account);
  const isOverQuota = answer.status === 429 && answer.body.includes('"quota_exceeded"');
  countAnswer('process', answer, isOverQuota ? undefined : problemOf(answer, 'process', id));
  const isThrottled = answer.headers['X-Throttled'] === 'true';
  monthCycles.add(answer.status === 200 && !isThrottled ? 1 : 0);
  monthRefused.add(isOverQuota ? 1 : 0);
}
