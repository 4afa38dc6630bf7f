import { setTimeout as sleep } from 'node:timers/promises';
import { metricsOf, sumOf } from '#bench/cycle-count';
import type { Service } from '#bench/service';

/** How long the service may take to store what it owes, in ms: 20 s of age, and much to write. */
const STORED_MS_MAX = 120_000;

/** How often it is asked, in ms. */
const ASK_EVERY_MS = 250;

/** How often it is told how much is left, in ms. */
const TELL_EVERY_MS = 5_000;

/** Fulfils when everything is checkpointed. Throws when that takes more than two minutes. */
export async function untilStored(
  { metricsUrls }: Service,
  tell: (line: string) => void,
): Promise<void> {
  const startedMs = performance.now();
  let toldMs = startedMs;
  for (;;) {
    const left = sumOf(await metricsOf(metricsUrls), 'journal_unflushed_records');
    if (left === 0) return;
    const nowMs = performance.now();
    if (nowMs - startedMs > STORED_MS_MAX) throw new Error(`${left} records are still not stored`);
    if (nowMs - toldMs > TELL_EVERY_MS) {
      tell(`${left.toLocaleString('en')} records are not stored yet`);
      toldMs = nowMs;
    }
    await sleep(ASK_EVERY_MS);
  }
}
