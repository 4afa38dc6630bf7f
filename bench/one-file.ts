/**
 * Scale run of one SQLite file: a million instances with ten million observations. Measures history
 * pages, starts after a clean stop and after a crash, bytes per table, and the journal's size under
 * a steady load. A run of full size replaces the section "One large file" in bench/SCALE.md.
 *
 *   node bench/one-file.ts [--quick] [--instances 1000000] [--rate 1000] [--seconds 300]
 *     [--memory 20000]
 */
import { parseArgs } from 'node:util';
import { describeRun } from '#bench/measures/machine';
import { measureOneFile, type Sizes } from '#bench/one-file/measure';
import { oneFileReport } from '#bench/one-file/report';
import { keepSection, SCALE_PAGE } from '#bench/report-page';

// The load lasts more than twice the maximum delay of a checkpoint.
const FULL: Sizes = {
  instances: 1_000_000,
  rate: 1_000,
  seconds: 300,
  pages: 1_000,
  memory: 20_000,
};
const QUICK: Sizes = { instances: 20_000, rate: 200, seconds: 20, pages: 100, memory: 0 };

const startedMs = performance.now();

function secondsSoFar(): number {
  return (performance.now() - startedMs) / 1_000;
}

function print(line: string): void {
  process.stderr.write(`${secondsSoFar().toFixed(0).padStart(5)} s  ${line}\n`);
}

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    instances: { type: 'string' },
    rate: { type: 'string' },
    seconds: { type: 'string' },
    memory: { type: 'string' },
  },
});
const usual = values.quick ? QUICK : FULL;
const sizeOf = (name: 'instances' | 'rate' | 'seconds' | 'memory') => {
  const size = Number(values[name] ?? usual[name]);
  const least = name === 'memory' ? 0 : 1;
  if (!Number.isSafeInteger(size) || size < least)
    throw new Error(`--${name} must be an integer of at least ${least}`);
  return size;
};
const sizes: Sizes = {
  ...usual,
  instances: sizeOf('instances'),
  rate: sizeOf('rate'),
  seconds: sizeOf('seconds'),
  memory: sizeOf('memory'),
};

// Every hundred instances contain all kinds of histories.
if (sizes.instances % 100 !== 0) throw new Error('--instances must be a multiple of 100');

const circumstances = await describeRun();
const found = await measureOneFile(sizes, print);
const command = ['node', 'bench/one-file.ts', ...process.argv.slice(2)].join(' ');
const duration = { name: 'Duration', value: `${secondsSoFar().toFixed(0)} s` };
const report = oneFileReport(found, command, [...circumstances, duration]);
process.stdout.write(report);
const isWhole = sizes.instances >= FULL.instances && sizes.seconds >= FULL.seconds;
if (isWhole) await keepSection(SCALE_PAGE, report);
else print(`${SCALE_PAGE.file} is unchanged, because this run is not complete`);
