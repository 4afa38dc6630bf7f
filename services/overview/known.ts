import { toFault } from '#fault/fault';
import { type Clock, withinMs } from '#platform/clock';

/** Something that was asked for, or why it is not known now. */
export type Known<Value> = { readonly value: Value } | { readonly not_known: string };

/**
 * What `pending` becomes within a time, or why that is not known: a part of a report that fails must
 * not take the rest along. `whose` begins the sentence that says so.
 */
export async function known<Value>(
  clock: Clock,
  msMax: number,
  whose: string,
  pending: Promise<Value>,
): Promise<Known<Value>> {
  try {
    const late = () => new Error(`${whose} gave no answer in ${msMax} ms`);
    return { value: await withinMs(clock, msMax, pending, late) };
  } catch (error) {
    // Causes of bugs stay where they arose.
    return { not_known: error instanceof Error ? textOf(error, whose) : `${whose} failed` };
  }
}

/** What is known, or undefined. */
export function valueIn<Value>(asked: Known<Value> | undefined): Value | undefined {
  return asked !== undefined && 'value' in asked ? asked.value : undefined;
}

function textOf(error: Error, whose: string): string {
  if (error.message.startsWith(`${whose} gave no answer`)) return error.message;
  const fault = toFault(error);
  return fault.code === 'internal' ? `${whose} failed` : `${whose}: ${fault.message}`;
}
