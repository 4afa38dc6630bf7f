import { Fault } from '#errors/fault';

/** Lets all pending event-loop work run. */
export function turnOfEvents(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Current state of a promise: its value, its error, or pending. */
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

/** Returns the error that `action` throws or rejects with. Throws if there is none. */
export async function refusalOf(action: () => unknown): Promise<Error> {
  try {
    await action();
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error('what was thrown is no error', { cause: error });
  }
  throw new Error('nothing was refused');
}

/** Returns the fault of a call, without a timeout. */
export async function faultIn(call: Promise<unknown>): Promise<Fault> {
  const refusal = await refusalOf(() => call);
  if (refusal instanceof Fault) return refusal;
  throw new Error('the call has ended in a bug', { cause: refusal });
}

/** Returns the fault of a call that has already settled. */
export async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const state = await stateOf(call);
  if (state !== 'pending' && 'error' in state && state.error instanceof Fault) return state.error;
  throw new Error('the call has not ended in a fault');
}
