import type { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';

/** Advances the clock in steps, with an event-loop turn after each. */
export async function pass(clock: ManualClock, durationMs: number, stepMs = 50): Promise<void> {
  await turnOfEvents();
  for (let leftMs = durationMs; leftMs > 0; leftMs -= stepMs) {
    clock.advance(Math.min(stepMs, leftMs));
    await turnOfEvents();
  }
}
