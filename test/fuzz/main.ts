import { parseArgs } from 'node:util';
import { type FuzzedService, startFuzzedService } from '#test/fuzz/fuzzed-service';
import { watchLog } from '#test/fuzz/log-watch';
import { type RawExtent, RawSide } from '#test/fuzz/raw-side';
import { runSchema } from '#test/fuzz/schema-run';
import { newCaller } from '#test/support/caller';

/*
 * Sends mutated valid requests and broken bytes at a real service for `--minutes`: an edge, an engine
 * and a limiter as processes of their own on Cassandra and NATS. Schemathesis runs beside it. Or plays
 * the rounds of some seeds again, `--seed 1,2`, or `--rounds` of them. Ends with status 1 if anything
 * was found. `--only raw|schema` does one of the two, `--from` is the seed of the first round.
 */

/** What a run may take beyond its own time, in milliseconds: starting, calming down, ending. */
const OVERTIME_MS = 900_000;

/** How long Schemathesis runs where the rounds of seeds are played again, in seconds. */
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
  const sayAgain = () =>
    [...(isRaw ? [raw.again()] : []), ...(isSchema ? [schemaAgain] : [])].join('\n');
  const watch = watchLog(service, sayAgain);
  /** A side that cannot go on: as a rule the service has ended, and its log says why. */
  const asFinding = (error: Error): string[] => [
    `the run broke off: ${error.message}: ${String(error.cause ?? error.stack)}\n${sayAgain()}`,
  ];
  console.log(`seed ${firstSeed}, ${seconds} s, ${service.origin}`);
  const playRaw = () => (seeds === undefined ? raw.play(extent) : raw.playEach(seeds));
  const [rawFound, schemaFound] = await Promise.all([
    isRaw ? playRaw().catch(asFinding) : [],
    isSchema ? schemaSide(service, schemaAgain).catch(asFinding) : [],
  ]);
  // A copy, because the end of the run ends the processes as well.
  return [...rawFound, ...schemaFound, ...watch.found];
}

async function schemaSide(service: FuzzedService, again: string): Promise<string[]> {
  const { key } = await newCaller(service);
  const common = { origin: service.origin, key, seed: firstSeed, print: console.log };
  const run = { ...common, extent: { seconds } };
  const { findings, excepted, cases, isComplete } = await runSchema(run);
  console.log(`${cases} cases of Schemathesis`);
  for (const [name, count] of excepted) console.log(`  ${count} times as meant: ${name}`);
  const incomplete = isComplete ? [] : ['Schemathesis did not come to its end'];
  return [...findings, ...incomplete].map((text) => `${text}\n${again}`);
}
