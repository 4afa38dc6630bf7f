import { Fault } from '#errors/fault';

/** Lets all pending event-loop work run. */
export function turnOfEvents(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A promise's current state: its value, its error, or pending. */
export async function stateOf<Value>(
  promise: Promise<Value>,
): Promise<{ value: Value } | { error: unknown } | 'pending'> {
  const settled: ({ value: Value } | { error: unknown })[] = [];
  promise.then(
    (value) => settled.push({ value }),
    (error: unknown) => settled.push({ error }),
  );
  await turnOfEvents();
  return settled[0] ?? 'pending';
}

/** Returns the error that `action` throws or rejects with. Throws if `action` succeeds. */
export async function refusalOf(action: () => unknown): Promise<Error> {
  try {
    await action();
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error('the thrown value is not an Error', { cause: error });
  }
  throw new Error('the action did not fail');
}

/** Waits until a call fails, without a timeout, and returns its fault. */
export async function faultIn(call: Promise<unknown>): Promise<Fault> {
  const refusal = await refusalOf(() => call);
  if (refusal instanceof Fault) return refusal;
  throw new Error('the call failed with an error that is not a Fault', { cause: refusal });
}

/** Returns the fault from a call that has already settled. */
export async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const state = await stateOf(call);
  if (state !== 'pending' && 'error' in state && state.error instanceof Fault) return state.error;
  throw new Error('the call has not failed with a Fault');
}
