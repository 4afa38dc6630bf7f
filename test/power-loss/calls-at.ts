import type { Call } from '#test/chaos/load/call-log';

/**
 * The call log at an earlier time, in monotonic milliseconds. Calls that were answered later have
 * an unknown outcome; calls that started later are left out.
 */
export function callsAt(calls: readonly Call[], atMs: number): Call[] {
  return calls
    .filter(({ startMs }) => startMs <= atMs)
    .map((call) => (call.endMs <= atMs ? call : unanswered(call)));
}

function unanswered(call: Call): Call {
  // Only the answer to a create names the instance.
  const instance = call.requested.kind === 'create' ? '' : call.instance;
  const outcome = { kind: 'unknown', why: 'in flight' } as const;
  return { ...call, instance, endMs: Number.POSITIVE_INFINITY, outcome };
}
