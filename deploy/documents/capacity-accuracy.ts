import { readResults } from '#bench/page/results';
import { engineWork, UNIT_COSTS } from '#ctl/capacity/capacity';
import { wrapped } from '#deploy/documents/wrapped-text';

/** Cells of the part `growth` of the benchmark. CPU in µs per observation. */
type GrowthCells = readonly [
  observationsPerS: number,
  p50Ms: number,
  p99Ms: number,
  cpu: { readonly engine: number; readonly cassandra: number },
  recordsPerGroup: number,
  appendMs: number,
  active: number,
];

/** Sentence about computed CPU, divided by measured CPU, in the rows of the part `growth`. */
export function accuracyLines(): string[] {
  const rows = readResults()['growth']?.tables?.[0]?.rows ?? [];
  const ratios = rows
    .filter(({ name }) => !name.includes('not in memory'))
    .map(({ cells }) => ratiosOf(cells as unknown as GrowthCells));
  const rangeOf = (part: 'engines' | 'cassandra') => {
    const values = ratios.map((ratio) => ratio[part]);
    return `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)} times`;
  };
  const sentence =
    `In ${ratios.length} measurements with 100 to 1,000,000 instances, computed CPU for engines is ` +
    `${rangeOf('engines')} the measured CPU. Computed CPU for Cassandra is ` +
    `${rangeOf('cassandra')} the measured CPU.`;
  return wrapped(sentence).split('\n');
}

function ratiosOf([observations, , , cpu, , , active]: GrowthCells) {
  const load = { observations, instances: active, keyedShare: 0, headroom: 0 };
  const { busy, groupRecords, perCheckpoint } = engineWork(load, 1, UNIT_COSTS);
  const { observation, append, head } = UNIT_COSTS.cassandra;
  const us = observation + append / groupRecords + head / perCheckpoint;
  return { engines: (busy * 1e6) / observations / cpu.engine, cassandra: us / cpu.cassandra };
}
