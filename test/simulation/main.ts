import { parseArgs } from 'node:util';
import { SimulationFailure, simulate } from '#test/simulation/simulate';

/*
 * Runs simulated clusters: `--seed N` one of them, with its trace if `--trace` is given; otherwise
 * one after the other from `--from` on, for `--minutes`. Ends with status 1 at the first failure.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

const endMs = performance.now() + Number(values.minutes) * 60_000;
const totals = { seeds: 0, failed: 0, virtualMs: 0, acknowledged: 0, unknown: 0, servedMs: 0 };
const startedMs = performance.now();
if (values.seed !== undefined) await run(Number(values.seed));
else {
  for (let seed = Number(values.from); performance.now() < endMs; seed += 1) {
    const isFine = await run(seed);
    if (!isFine && !values.keep) break;
  }
}
const seconds = (performance.now() - startedMs) / 1_000;
console.log(
  `${totals.seeds} seeds, ${totals.failed} failed, ${totals.acknowledged} calls acknowledged, ` +
    `${totals.unknown} of unknown outcome; served again after at most ${totals.servedMs} ms; ` +
    `${Math.round(totals.virtualMs / 1_000)} virtual seconds in ${seconds.toFixed(1)} s`,
);
process.exitCode = totals.failed > 0 ? 1 : 0;

async function run(seed: number): Promise<boolean> {
  totals.seeds += 1;
  try {
    const hear = (line: string) => console.log(line);
    const result = await simulate(seed, values.trace ? { hear } : {});
    totals.virtualMs += result.virtualMs;
    totals.acknowledged += result.acknowledged;
    totals.unknown += result.unknown;
    totals.servedMs = Math.max(totals.servedMs, result.servedAfterMs);
    if (values.seed !== undefined) console.log(JSON.stringify(result));
    return true;
  } catch (error) {
    totals.failed += 1;
    if (!(error instanceof SimulationFailure)) throw error;
    if (!values.trace && !values.keep) for (const line of error.lastLines) console.log(line);
    console.log(error.message);
    if (error.cause instanceof Error) console.log(String(error.cause.stack));
    console.log(`again: make simulate SEED=${seed}`);
    return false;
  }
}
