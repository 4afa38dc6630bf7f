import type { Call } from '#test/chaos/load/call-log';

/**
 * The log as callers knew it at a time (monotonic milliseconds of their process): calls answered
 * later have unknown outcome, calls begun later were never sent.
 */
export function callsAt(calls: readonly Call[], atMs: number): Call[] {
  return calls
    .filter(({ startMs }) => startMs <= atMs)
    .map((call) => (call.endMs <= atMs ? call : unanswered(call)));
}

function unanswered(call: Call): Call {
  // A create's instance is only known from its answer.
  const instance = call.requested.kind === 'create' ? '' : call.instance;
  const outcome = { kind: 'unknown', why: 'under way' } as const;
  return { ...call, instance, endMs: Number.POSITIVE_INFINITY, outcome };
}
