import { atMost, figure, type ScaleFigure } from '#bench/scale/scale-part';

/** How long one answer may take at the 99th percentile, in ms. The target of pages of any kind. */
const P99_MS_MAX = 20;

/** Times of calls that were made one at a time, in ms. */
export type Latencies = { readonly p50: number; readonly p99: number; readonly longest: number };

/** The time that `work` took, in ms, and what it gave. */
export async function timed<Answer>(
  work: () => Promise<Answer>,
): Promise<{ readonly ms: number; readonly answer: Answer }> {
  const startedMs = performance.now();
  const answer = await work();
  return { ms: performance.now() - startedMs, answer };
}

/** The percentiles of measured times; throws when there are none. */
export function latenciesOf(times: readonly number[]): Latencies {
  const sorted = times.toSorted((a, b) => a - b);
  const longest = sorted.at(-1);
  if (longest === undefined) throw new Error('nothing was measured');
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? longest;
  return { p50: at(0.5), p99: at(0.99), longest };
}

/** Three figures, of which the 99th percentile has the target of 20 ms. */
export function pageFigures(what: string, times: readonly number[]): ScaleFigure[] {
  const { p50, p99, longest } = latenciesOf(times);
  return [
    figure(`${what}, p50`, `${p50.toFixed(1)} ms`),
    atMost(`${what}, p99`, p99, P99_MS_MAX, 'ms', 1),
    figure(`${what}, longest`, `${longest.toFixed(1)} ms`),
  ];
}
