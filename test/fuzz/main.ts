import { parseArgs } from 'node:util';
import { type FuzzedService, startFuzzedService } from '#test/fuzz/fuzzed-service';
import { watchLog } from '#test/fuzz/log-watch';
import { type RawExtent, RawSide } from '#test/fuzz/raw-side';
import { runSchema } from '#test/fuzz/schema-run';
import { newCaller } from '#test/support/calls/caller';

/*
 * Fuzzer: sends mutated valid requests and broken bytes to a real service for `--minutes`, with
 * Schemathesis in parallel. The service is an edge, an engine and a limiter as separate processes
 * on Cassandra and NATS. `--seed 1,2` replays rounds, `--rounds` limits their number, `--only
 * raw|schema` selects one tool, `--from` is the first seed. Exit status 1 if anything was found.
 */

/** Time beyond the run's duration for start, memory measurement and stop, in milliseconds. */
const OVERTIME_MS = 900_000;

/** Duration of the Schemathesis run when seeds are replayed, in seconds. */
const SEED_SECONDS = 45;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    from: { type: 'string' },
    rounds: { type: 'string' },
    only: { type: 'string' },
  },
});
const seeds = values.seed?.split(',').map(Number);
const isRaw = values.only !== 'schema';
const isSchema = values.only === 'schema' || (values.only === undefined && seeds === undefined);
const seconds = seeds === undefined ? Number(values.minutes) * 60 : SEED_SECONDS;
const extent: RawExtent =
  values.rounds === undefined
    ? { kind: 'seconds', seconds }
    : { kind: 'rounds', rounds: Number(values.rounds) };
const firstSeed = seeds?.[0] ?? Number(values.from ?? Math.floor(Math.random() * 1_000_000_000));

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const problems = await fuzzed();
for (const problem of problems) console.log(`FOUND ${problem}`);
console.log(`${problems.length} findings`);
process.exitCode = problems.length > 0 ? 1 : 0;

async function fuzzed(): Promise<string[]> {
  await using service = await startFuzzedService(seconds * 1_000 + OVERTIME_MS, console.log);
  const raw = await RawSide.open(service, firstSeed);
  const schemaAgain = `  again: make fuzz SEED=${firstSeed} ARGS="--only schema"`;
  const againCommands = () =>
    [...(isRaw ? [raw.again()] : []), ...(isSchema ? [schemaAgain] : [])].join('\n');
  const watch = watchLog(service, againCommands);
  /** Finding for a tool that failed. Usually the service crashed, and its log has the reason. */
  const asFinding = (error: Error): string[] => [
    `the run failed: ${error.message}: ${String(error.cause ?? error.stack)}\n${againCommands()}`,
  ];
  console.log(`seed ${firstSeed}, ${seconds} s, ${service.origin}`);
  const playRaw = () => (seeds === undefined ? raw.play(extent) : raw.playEach(seeds));
  const [rawFound, schemaFound] = await Promise.all([
    isRaw ? playRaw().catch(asFinding) : [],
    isSchema ? schemaSide(service, schemaAgain).catch(asFinding) : [],
  ]);
  // Copies `watch.found`, because stopping the service after this line adds findings.
  return [...rawFound, ...schemaFound, ...watch.found];
}

async function schemaSide(service: FuzzedService, again: string): Promise<string[]> {
  const { key } = await newCaller(service);
  const common = { origin: service.origin, key, seed: firstSeed, print: console.log };
  const run = { ...common, extent: { seconds } };
  const { findings, excepted, cases, isComplete } = await runSchema(run);
  console.log(`${cases} cases of Schemathesis`);
  for (const [name, count] of excepted) console.log(`  ${count} accepted failures: ${name}`);
  const incomplete = isComplete ? [] : ['Schemathesis did not finish'];
  return [...findings, ...incomplete].map((text) => `${text}\n${again}`);
}
