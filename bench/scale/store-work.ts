/**
 * Statement durations in Prometheus metrics: count or sum. Separate from takeover.ts, which
 * measures, because this file only parses.
 */
const SAMPLE = /^db_client_operation_duration_seconds_(sum|count)\{(.*)\} (\S+)$/gm;

/** Executions of each statement, and their total duration in s. */
export type StoreWork = ReadonlyMap<string, { readonly count: number; readonly seconds: number }>;

/** Statements sent to the store since the process start, from its metrics. */
export function storeWorkIn(metrics: string): StoreWork {
  const work = new Map<string, { count: number; seconds: number }>();
  for (const [, part, labels = '', value] of metrics.matchAll(SAMPLE)) {
    const name = /db_operation_name="([^"]*)"/.exec(labels)?.[1] ?? '';
    const { count, seconds } = work.get(name) ?? { count: 0, seconds: 0 };
    const more = Number(value);
    if (part === 'count') work.set(name, { count: count + more, seconds });
    else work.set(name, { count, seconds: seconds + more });
  }
  return work;
}

/**
 * Statements sent between two readings, with count and mean duration: `shard_change 22 of 31 ms`.
 */
export function storeWorkBetween(before: StoreWork, after: StoreWork): string {
  const lines: string[] = [];
  for (const [name, { count, seconds }] of after) {
    const sent = count - (before.get(name)?.count ?? 0);
    const ms = (seconds - (before.get(name)?.seconds ?? 0)) * 1_000;
    if (sent > 0) lines.push(`${name} ${sent} of ${(ms / sent).toFixed(0)} ms`);
  }
  return lines.join(', ');
}
