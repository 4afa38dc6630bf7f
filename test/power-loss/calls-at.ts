import type { Call } from '#test/chaos/call-log';

/**
 * What callers knew at a moment (monotonic milliseconds of their process): what was answered later is of
 * unknown outcome, and what began later was never sent.
 */
export function callsAt(calls: readonly Call[], atMs: number): Call[] {
  return calls
    .filter(({ startMs }) => startMs <= atMs)
    .map((call) => (call.endMs <= atMs ? call : unanswered(call)));
}

function unanswered(call: Call): Call {
  // The answer to a create is what names its instance.
  const instance = call.requested.kind === 'create' ? '' : call.instance;
  const outcome = { kind: 'unknown', why: 'under way' } as const;
  return { ...call, instance, endMs: Number.POSITIVE_INFINITY, outcome };
}
