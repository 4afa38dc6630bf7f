import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';

/** How long something may take that the service does within a second or two, in milliseconds. */
const SOON_MS = 15_000;

/** How often it is asked for, in milliseconds. */
const ASKED_MS = 100;

/** Fulfils once it holds; fails, and says what has not come, after 15 s. */
export async function soon(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const untilMs = performance.now() + SOON_MS;
  while (!(await holds())) {
    assert.ok(performance.now() < untilMs, `${what} has not come`);
    await sleep(ASKED_MS);
  }
}
