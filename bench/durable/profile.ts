/**
 * Profiles engine and edge while the durable service of `make bench` is under load. Lists functions
 * by self time and total time in µs per request. `--folder` stores the profiles for a browser's
 * developer tools.
 *
 *   node bench/durable/profile.ts [--connections 256] [--instances 1000] [--seconds 10]
 *     [--lead-in 125] [--keyed] [--folder profiles]
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startDurable } from '#bench/durable/service';
import { DURABLE_INSTANCES } from '#bench/load/observation-plan';
import { type ClosedResult, runWrk } from '#bench/load/wrk';
import { type CpuProfile, functionTimes } from '#bench/measures/cpu-profile';
import { threadMicros } from '#bench/measures/cpu-time';
import { metricsOf, sumOf } from '#bench/measures/cycle-count';
import { Inspector } from '#bench/measures/inspector';
import { prepareService } from '#bench/processes/servers';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { findWrk } from '#bench/processes/tool-path';

const ROWS = 45;

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '256' },
    instances: { type: 'string', default: `${DURABLE_INSTANCES}` },
    seconds: { type: 'string', default: '10' },
    // Time until JIT compilation has ended and checkpoints run: checkpoints lag up to two minutes.
    'lead-in': { type: 'string', default: '125' },
    /** Sends a new idempotency key with every call. */
    keyed: { type: 'boolean', default: false },
    folder: { type: 'string' },
  },
});
const run = { connections: Number(values.connections), seconds: Number(values.seconds) };
const print = (line: string) => process.stderr.write(`${line}\n`);

const wrk = await findWrk();
const folder = temporaryFolder();
await using service = await startDurable({
  engines: 1,
  folder: temporaryFolder(),
  nodeArgs: ['--inspect=127.0.0.1:0'],
  print,
});
const [engineProcess] = service.engines;
if (engineProcess === undefined) throw new Error('the service started no engine');
using engine = await Inspector.connect(engineProcess);
using edge = await Inspector.connect(service.edge);
const prepared = await prepareService('d', service, folder, {
  instanceCount: Number(values.instances),
});
const server = { ...prepared, isKeyed: values.keyed };
const cassandra = service.processes.find(({ name }) => name === 'cassandra')?.pid ?? 0;
print(`loading for ${values['lead-in']} s`);
await runWrk(wrk, server, { ...run, seconds: Number(values['lead-in']) });
print(`profiling for ${run.seconds} s`);
const before = await metricsOf(service.metricsUrls);
const threadsBefore = await threadMicros(cassandra);
const measured: ClosedResult[] = [];
const profiles: Record<string, CpuProfile> = {};
profiles['edge'] = await edge.profile(async () => {
  profiles['engine'] = await engine.profile(async () => {
    measured.push(await runWrk(wrk, server, run));
  });
});
const after = await metricsOf(service.metricsUrls);
const threadsAfter = await threadMicros(cassandra);
const [result] = measured;
if (result === undefined) throw new Error('wrk returned no result');
const grown = (name: string) => sumOf(after, name) - sumOf(before, name);
const requests = grown('identity_cycles_total');
const groups = grown('journal_group_records_count');
console.log(`${result.requestsPerS.toFixed(0)} requests/s, p50 ${result.p50Ms.toFixed(1)} ms`);
console.log(`${result.problem?.text ?? 'all answers are correct'}`);
console.log(`${(requests / groups).toFixed(1)} records per group, ${groups} groups`);
console.log(
  `append ${((grown('journal_append_seconds_sum') / groups) * 1_000).toFixed(2)} ms on average`,
);
for (const { process: name, microsPerRequest } of result.cpu) {
  console.log(`CPU of ${name}: ${microsPerRequest.toFixed(1)} µs per request`);
}
console.log('\ncassandra: threads, µs per request');
const threads = [...threadsAfter].map(([name, micros]) => ({
  name,
  micros: micros - (threadsBefore.get(name) ?? 0),
}));
for (const { name, micros } of threads.toSorted((a, b) => b.micros - a.micros).slice(0, 12)) {
  console.log(`${(micros / requests).toFixed(2).padStart(8)}  ${name}`);
}
for (const [name, profile] of Object.entries(profiles)) await show(name, profile, requests);

async function show(name: string, profile: CpuProfile, count: number): Promise<void> {
  const times = functionTimes(profile);
  const table = (title: string, read: (time: (typeof times)[number]) => number) => {
    console.log(`\n${name}: ${title}, µs per request`);
    for (const time of times.toSorted((a, b) => read(b) - read(a)).slice(0, ROWS)) {
      console.log(`${(read(time) / count).toFixed(2).padStart(8)}  ${time.name}  ${time.place}`);
    }
  };
  table('self time', ({ selfMicros }) => selfMicros);
  table('total time, including callees', ({ totalMicros }) => totalMicros);
  if (values.folder === undefined) return;
  await mkdir(values.folder, { recursive: true });
  await writeFile(join(values.folder, `${name}.cpuprofile`), JSON.stringify(profile));
}
