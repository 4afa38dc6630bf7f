import { Fault } from '#errors/fault';

/** Lets everything run that waits for nothing but its turn. */
export function turnOfEvents(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What a promise has come to by now: its value, its error, or neither yet. */
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

/** The error that `action` throws or rejects with. Throws if it does neither. */
export async function refusalOf(action: () => unknown): Promise<Error> {
  try {
    await action();
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error('what was thrown is no error', { cause: error });
  }
  throw new Error('nothing was refused');
}

/** The fault that a call ends with, however long it takes. */
export async function faultIn(call: Promise<unknown>): Promise<Fault> {
  const refusal = await refusalOf(() => call);
  if (refusal instanceof Fault) return refusal;
  throw new Error('the call has ended in a bug', { cause: refusal });
}

/** The fault with which a call has ended by now. */
export async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const state = await stateOf(call);
  if (state !== 'pending' && 'error' in state && state.error instanceof Fault) return state.error;
  throw new Error('the call has not ended in a fault');
}
