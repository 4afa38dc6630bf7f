import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '#bench/processes/child';

/** Default of the maximum start time of a process, in ms; a start usually takes half a second. */
const READY_MS_MAX = 20_000;

/** Polling interval of a starting process, in ms: the resolution of measured start times. */
const POLL_INTERVAL_MS = 5;

/**
 * Polls until `ask` returns a value. If `ask` rejects, polls again. Throws with the process's last
 * output if the process ends or does not answer within `msMax` ms.
 */
export async function untilAnswered<Answer>(
  child: Child,
  ask: () => Promise<Answer | undefined>,
  msMax = READY_MS_MAX,
): Promise<Answer> {
  const deadline = performance.now() + msMax;
  while (performance.now() < deadline) {
    if (child.isEnded) throw new Error(`${child.name} ended:\n${child.output.trim()}`);
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined) return answer;
    await sleep(POLL_INTERVAL_MS);
  }
  throw new Error(
    `${child.name} did not answer within ${msMax / 1_000} s:\n${child.output.trim()}`,
  );
}

/** Resolves when a GET of `url` answers 2xx. */
export async function untilReady(child: Child, url: string, msMax = READY_MS_MAX): Promise<void> {
  await untilAnswered(child, async () => ((await fetch(url)).ok ? true : undefined), msMax);
}
