import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endLeftovers } from '#deploy/local/leftovers';
import { stopRecordedServer } from '#deploy/local/server-record';
import { runChaos } from '#test/chaos/chaos-run';
import { FAULTS } from '#test/chaos/faults';
import { reportText } from '#test/chaos/report';
import { secondsOf } from '#test/chaos/timeline';
import { timelinePicture } from '#test/chaos/timeline-picture';

/*
 * Disturbs a real cluster under load and proves from its stores that nothing was lost or doubled.
 * A full run writes docs/chaos.md and docs/chaos.svg; `--only kill-engine,kill-edge` does some faults
 * and writes its report beside the logs. Ends with status 1 when the check finds anything.
 */

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    /** Quiet seconds before the first fault and after each. */
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '150' },
    instances: { type: 'string', default: '500' },
    accounts: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
    port: { type: 'string', default: '23000' },
    folder: { type: 'string', default: join(tmpdir(), 'identity-engine-chaos') },
    help: { type: 'boolean', default: false },
  },
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = values.help ? help() : await run();

function help(): number {
  const width = Math.max(...FAULTS.map(({ name }) => name.length)) + 2;
  const names = FAULTS.map(({ name, title }) => `  ${name.padEnd(width)}${title}`);
  console.log(['--only takes some of these, separated by commas:', ...names].join('\n'));
  return 0;
}

/** Every run is one of its own: ends what an earlier one left running, and forgets its state. */
async function clear(folder: string): Promise<void> {
  await endLeftovers(join(folder, 'cluster'));
  await stopRecordedServer(join(folder, 'toxiproxy'));
  for (const part of ['cluster', 'toxiproxy']) {
    await rm(join(folder, part), { recursive: true, force: true });
  }
}

async function run(): Promise<number> {
  const names = values.only === '' ? FAULTS.map(({ name }) => name) : values.only.split(',');
  const unknown = names.filter((name) => FAULTS.every((fault) => fault.name !== name));
  if (unknown.length > 0) {
    console.error(`there is no fault ${unknown.join(', ')}; see --help`);
    return 2;
  }
  const faults = FAULTS.filter(({ name }) => names.includes(name));
  const { folder } = values;
  await clear(folder);
  const startedMs = performance.now();
  const result = await runChaos({
    folder,
    ports: Number(values.port),
    faults,
    quietS: Number(values.seconds),
    callsPerSecond: Number(values.rate),
    instances: Number(values.instances),
    accounts: Number(values.accounts),
    seed: Number(values.seed),
    tell: (line) => {
      const seconds = (performance.now() - startedMs) / 1_000;
      console.log(`${seconds.toFixed(1).padStart(7)} s  ${line}`);
    },
  });
  const target = values.only === '' ? 'docs' : folder;
  await mkdir(target, { recursive: true });
  const { log, disturbances, check, fromMs, toMs } = result;
  const report = reportText(result, faults, 'chaos.svg');
  const picture = timelinePicture(secondsOf(log.calls, fromMs, toMs), disturbances, fromMs);
  await writeFile(join(target, 'chaos.md'), report);
  await writeFile(join(target, 'chaos.svg'), picture);
  console.log(`\n${report}\nwritten to ${join(target, 'chaos.md')}; logs in ${folder}`);
  return check.findings.count > 0 ? 1 : 0;
}
