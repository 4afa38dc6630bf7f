import type { Figure } from '#bench/page/part';

/** Maximum p99 of page reads, in ms. Source: the project's targets. */
const P99_MS_MAX = 20;

/** Latency statistics of sequential calls, in ms. */
export type Latencies = { readonly p50: number; readonly p99: number; readonly longest: number };

/** Runs `work`; returns its duration in ms and its result. */
export async function timed<Answer>(
  work: () => Promise<Answer>,
): Promise<{ readonly ms: number; readonly answer: Answer }> {
  const startedMs = performance.now();
  const answer = await work();
  return { ms: performance.now() - startedMs, answer };
}

/** Percentiles of measured times; throws on an empty list. */
export function latenciesOf(times: readonly number[]): Latencies {
  const sorted = times.toSorted((a, b) => a - b);
  const longest = sorted.at(-1);
  if (longest === undefined) throw new Error('no latency was measured');
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? longest;
  return { p50: at(0.5), p99: at(0.99), longest };
}

/** Table text for p50, p99 and longest time, in ms. */
export function latenciesText({ p50, p99, longest }: Latencies): string {
  return [p50, p99, longest].map((ms) => ms.toFixed(1)).join(', ');
}

/** Figure with the percentiles of page reads. Its target is p99 ≤ 20 ms. */
export function pageFigure(what: string, times: readonly number[]): Figure {
  const latencies = latenciesOf(times);
  return {
    what: `${what}: p50, p99, longest`,
    target: `p99 ≤ ${P99_MS_MAX} ms`,
    reached: `${latenciesText(latencies)} ms`,
    isMet: latencies.p99 <= P99_MS_MAX,
  };
}
