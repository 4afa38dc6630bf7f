import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '#bench/child';

/** How long a process may take until it answers, in ms. Chosen: a start takes about half a second. */
const READY_MS_MAX = 20_000;

/** How often a starting process is asked, in ms: the resolution of the cold start. */
const ASK_EVERY_MS = 5;

/**
 * Asks until `ask` gives something else than undefined; a refused connection counts as not yet.
 * Throws with the process's last output when it ends or takes too long.
 */
export async function untilAnswered<Answer>(
  child: Child,
  ask: () => Promise<Answer | undefined>,
): Promise<Answer> {
  const deadline = performance.now() + READY_MS_MAX;
  while (performance.now() < deadline) {
    if (child.isEnded) throw new Error(`${child.name} ended:\n${child.output.trim()}`);
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined) return answer;
    await sleep(ASK_EVERY_MS);
  }
  throw new Error(`${child.name} did not answer in time:\n${child.output.trim()}`);
}

/** Resolves when a GET of `url` answers 2xx. */
export async function untilReady(child: Child, url: string): Promise<void> {
  await untilAnswered(child, async () => ((await fetch(url)).ok ? true : undefined));
}
