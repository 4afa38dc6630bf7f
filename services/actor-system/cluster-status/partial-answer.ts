import { toFault } from '#errors/fault';
import { type Clock, withinMs } from '#stdlib/clock';

/** Value of one part of a report, or the reason why the value is unknown. */
export type Known<Value> = { readonly value: Value } | { readonly not_known: string };

/**
 * Waits up to `msMax` milliseconds for `pending`, and turns a failure or timeout into a reason. One
 * failing part must not fail the whole report. `whose` names the part in the text of the reason.
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
    // The text of an internal error stays in the log.
    return { not_known: error instanceof Error ? textOf(error, whose) : `${whose} failed` };
  }
}

/** The value; undefined if unknown. */
export function valueIn<Value>(asked: Known<Value> | undefined): Value | undefined {
  return asked !== undefined && 'value' in asked ? asked.value : undefined;
}

function textOf(error: Error, whose: string): string {
  if (error.message.startsWith(`${whose} gave no answer`)) return error.message;
  const fault = toFault(error);
  return fault.code === 'internal' ? `${whose} failed` : `${whose}: ${fault.message}`;
}
