import type { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

/** Lets so much time pass in steps, with a turn for whatever waits between them. */
export async function pass(clock: ManualClock, durationMs: number, stepMs = 50): Promise<void> {
  await turnOfEvents();
  for (let leftMs = durationMs; leftMs > 0; leftMs -= stepMs) {
    clock.advance(Math.min(stepMs, leftMs));
    await turnOfEvents();
  }
}
