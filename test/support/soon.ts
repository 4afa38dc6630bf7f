import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';

/** Timeout and polling interval, in milliseconds. */
type Patience = { readonly withinMs?: number; readonly everyMs?: number };

/** Polls until the condition holds. Fails with `what` after `withinMs`. */
export async function soon(
  what: string,
  holds: () => Promise<boolean> | boolean,
  { withinMs = 15_000, everyMs = 100 }: Patience = {},
): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!(await holds())) {
    assert.ok(performance.now() < untilMs, `timed out after ${withinMs} ms: ${what}`);
    await sleep(everyMs);
  }
}
