import { bodyHashOf, type Outcome } from '#test/chaos/load/call-log';
import type { Answered } from '#test/chaos/load/edge-caller';

/**
 * Reasons of a 503 which prove that the call was not applied. After any other 5xx the outcome is
 * unknown (API document, "Errors").
 */
const NOT_APPLIED = new Set(['limiter_unavailable', 'overloaded']);

/** Outcome of one attempt. */
export function outcomeOf(answered: Answered): Outcome {
  if (answered.kind === 'unsent') return { kind: 'refused', status: 0, reason: 'no_edge' };
  if (answered.kind === 'lost') return { kind: 'unknown', why: answered.why };
  const { status, body, etag, isThrottled } = answered;
  if (isThrottled) return { kind: 'throttled', etag };
  if (status < 300) {
    return { kind: 'acknowledged', etag, bodyHash: bodyHashOf(body), cycle: cycleIn(body) };
  }
  const reason = reasonIn(body);
  if (reason === 'outcome_unknown') return { kind: 'superseded' };
  if (status < 500 || NOT_APPLIED.has(reason)) return { kind: 'refused', status, reason };
  return { kind: 'unknown', why: `${status} ${reason}` };
}

/** Whether to retry a call with a key. */
export function isRetried(outcome: Outcome): boolean {
  if (outcome.kind === 'refused') return outcome.status === 0 || outcome.status === 503;
  return outcome.kind === 'unknown';
}

function cycleIn(body: string): number | undefined {
  const cycle = /"cycle":(\d+)/.exec(body)?.[1];
  return cycle === undefined ? undefined : Number(cycle);
}

function reasonIn(body: string): string {
  try {
    const { error, details } = JSON.parse(body);
    return String(details?.reason ?? error);
  } catch {
    return 'unreadable';
  }
}
