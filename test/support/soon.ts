import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';

/** How long it may take, and how often it is asked for, in milliseconds. */
type Patience = { readonly withinMs?: number; readonly everyMs?: number };

/** Fulfils once it holds; fails, and says what has not come, after `withinMs`. */
export async function soon(
  what: string,
  holds: () => Promise<boolean> | boolean,
  { withinMs = 15_000, everyMs = 100 }: Patience = {},
): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!(await holds())) {
    assert.ok(performance.now() < untilMs, `${what} has not come`);
    await sleep(everyMs);
  }
}
