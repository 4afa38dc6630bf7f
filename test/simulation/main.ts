import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { runSeed, type SeedResult } from '#test/simulation/run-seed';

/*
 * Runs simulated clusters. `--seed N` runs one seed; `--trace` prints its trace. Without `--seed`,
 * `--jobs` threads run seeds from `--from` for `--minutes`. The run stops at the first failure;
 * with `--keep`, it continues. The exit status is 1 if a seed failed.
 */

/** Interval of the progress lines, in ms. */
const PROGRESS_MS = 60_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    trace: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

const totals = {
  ...{ seeds: 0, failed: 0, virtualMs: 0, acknowledged: 0, unknown: 0, servedMs: 0 },
  ...{ endpoints: 0, excused: 0 },
};
const startedMs = performance.now();
if (values.seed === undefined) await runManySeeds();
else await runOneSeed(Number(values.seed));
console.log(summary());
process.exit(totals.failed > 0 ? 1 : 0);

async function runOneSeed(seed: number): Promise<void> {
  const hear = (line: string) => console.log(line);
  const found = await runSeed(seed, values.trace ? hear : undefined);
  note(found);
  if (found.result !== undefined) console.log(JSON.stringify(found.result));
}

async function runManySeeds(): Promise<void> {
  const endMs = startedMs + Number(values.minutes) * 60_000;
  let next = Number(values.from);
  const progress = setInterval(() => console.log(summary()), PROGRESS_MS);
  const isOver = () => performance.now() >= endMs || (totals.failed > 0 && !values.keep);
  const thread = async (): Promise<void> => {
    const worker = new Worker(new URL('run-seed.ts', import.meta.url));
    while (!isOver()) {
      worker.postMessage(next);
      next += 1;
      const [found]: SeedResult[] = await once(worker, 'message');
      if (found !== undefined) note(found);
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, thread));
  clearInterval(progress);
}

function note({ result, failure }: SeedResult): void {
  totals.seeds += 1;
  if (result !== undefined) {
    totals.virtualMs += result.virtualMs;
    totals.acknowledged += result.acknowledged;
    totals.unknown += result.unknown;
    totals.endpoints += result.endpoints;
    totals.excused += result.excused;
    totals.servedMs = Math.max(totals.servedMs, result.servedAfterMs);
  }
  if (failure === undefined) return;
  totals.failed += 1;
  if (!values.trace && !values.keep) for (const line of failure.trace) console.log(line);
  for (const line of failure.lines) console.log(line);
}

function summary(): string {
  const seconds = (performance.now() - startedMs) / 1_000;
  return (
    `${totals.seeds} seeds, ${totals.failed} failed, ${totals.acknowledged} calls acknowledged, ` +
    `${totals.unknown} calls with unknown outcome; ${totals.endpoints} webhook endpoints, ` +
    `${totals.excused} of them excused by full lists of failures; all shards served ${totals.servedMs} ms ` +
    `after the last fault at the latest; ` +
    `${Math.round(totals.virtualMs / 1_000)} simulated seconds in ${seconds.toFixed(1)} s`
  );
}
