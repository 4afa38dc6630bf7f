import * as assert from 'uvu/assert';
import { Admission, type AdmissionCall, LimitedKeys } from '#edge/callers/admission';
import type { AddressWarnings } from '#edge/callers/known-callers';
import { edgeMetrics } from '#edge/serve/reply';
import type { Allowance, LimiterAnswer, LimiterCall } from '#grpc/limiter-messages';
import { createMetrics } from '#telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';

/** Start of the tests' clocks, in Unix seconds. */
export const START_S = Date.UTC(2026, 0, 15, 12) / 1_000;

/** Allowance for an account within its limits. */
export const ALLOWANCE: Allowance = {
  requestsPerMinute: 60,
  requestsRemaining: 40,
  windowResetAtS: START_S + 20,
  cyclesPerMonth: 1_000,
  cyclesRemaining: 700,
  monthResetAtS: START_S + 86_400,
  instances: 12,
};

/** A call for three cycles. */
export const CALL: AdmissionCall = {
  caller: { accountId: 'AdaAdaAdaAda', credential: 'a key' },
  address: '1.1.1.1',
  callId: 7,
  callTag: 5,
  isKeyed: false,
  scope: 'full',
  cycles: 3,
};

/** Limit headers for an unknown account, with a reset in `retryAfterS` seconds. */
export function noNumbers(retryAfterS: number) {
  return {
    'x-ratelimit-limit': 0,
    'x-ratelimit-remaining': 0,
    'x-monthly-remaining': 0,
    'x-ratelimit-reset': START_S + retryAfterS,
  };
}

/** Answers a call like a limiter. */
export type Answering = (call: LimiterCall) => LimiterAnswer | Promise<LimiterAnswer>;

/** The answer to a key that was never created. */
export const unknown: Answering = () => ({ verdict: 'unknown_key', allowance: undefined });

/** The answer to an admitted call. */
export const admitting: Answering = () => ({ verdict: 'admitted', allowance: ALLOWANCE });

/**
 * An edge's admission with a fake limiter, which answers calls with `answering`. Records warnings
 * about addresses if `isHeard`.
 */
export function admissionUnderTest(answering: Answering, isHeard = true) {
  const clock = new ManualClock();
  const metrics = createMetrics();
  const asked: LimiterCall[] = [];
  const warned: unknown[][] = [];
  const limiter = {
    /** A test may replace this function. */
    answering,
    ask(call: LimiterCall) {
      asked.push(call);
      return limiter.answering(call);
    },
  };
  const limited = new LimitedKeys(clock, undefined);
  const warnings: AddressWarnings = {
    barred: (network) => warned.push(['barred', network]),
    shared: (address, accounts) => warned.push(['shared', address, accounts]),
    barredNotifications: () => assert.unreachable('admission handles no notifications'),
    unfinished: () => assert.unreachable('admission handles no bodies'),
  };
  const counts = edgeMetrics(metrics);
  const heard = isHeard ? warnings : undefined;
  const admission = new Admission(limiter, clock, counts, limited, heard);
  return {
    clock,
    limiter,
    asked,
    warned,
    admission,
    admit: (call: Partial<AdmissionCall> = {}) => admission.admit({ ...CALL, ...call }),
    /** The value in a metrics line; 0 without such a line. */
    async scraped(line: RegExp) {
      return Number(line.exec((await metrics.scrape()).text)?.[1] ?? 0);
    },
  };
}
