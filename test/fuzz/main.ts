import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startCassandra } from '#deploy/local/cassandra-server';
import { Lane } from '#test/fuzz/lane';
import { logFlaws } from '#test/fuzz/log-flaws';
import { growthFlaw, MEASURABLE, settledBytes } from '#test/fuzz/memory';
import type { Finding } from '#test/fuzz/round';
import { runSchema } from '#test/fuzz/schema-run';
import { openMigratedKeyspace } from '#test/storage/migrated-keyspace';
import { newCaller } from '#test/support/caller';
import { type Service, startStandalone } from '#test/support/service';

/*
 * Sends mutated valid requests and broken bytes at a real service with Cassandra below, for
 * `--minutes`, and Schemathesis beside it; or the round of one `--seed` again. Ends with status 1 if
 * anything was found. `--only raw|schema` does one of the two, `--from` is the seed of the first round.
 */

/** Rounds that are played at the same time. */
const LANES = 4;

/** Of the whole time: so much passes before memory is measured for the first time. */
const WARM_PART = 0.25;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    from: { type: 'string' },
    only: { type: 'string' },
  },
});
const isRaw = values.only !== 'schema';
const isSchema =
  values.only === 'schema' || (values.only === undefined && values.seed === undefined);
const seconds = values.seed === undefined ? Number(values.minutes) * 60 : 45;
const firstSeed = Number(values.seed ?? values.from ?? Math.floor(Math.random() * 1_000_000_000));

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const problems = await fuzzed();
for (const problem of problems) console.log(`FOUND ${problem}`);
console.log(`${problems.length} findings`);
process.exitCode = problems.length > 0 ? 1 : 0;

async function fuzzed(): Promise<string[]> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'identity-engine-fuzz-'));
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const place = { folder: join(folder, 'cassandra'), logFolder: join(folder, 'logs') };
  const cassandra = await startCassandra({ ...place, tell: console.log });
  opened.defer(async () => {
    cassandra.signal('SIGKILL');
    await cassandra.ended;
  });
  const keyspace = opened.use(await openMigratedKeyspace(cassandra.address));
  const service = opened.use(
    await startStandalone({
      ...MEASURABLE,
      SERVICE_STORAGE: 'cassandra',
      SERVICE_CASSANDRA_CONTACT_POINTS: cassandra.address,
      SERVICE_CASSANDRA_KEYSPACE: keyspace.name,
      SERVICE_SHARDS: '8',
      SERVICE_LIMITER_TIMEOUT_MS: '5000',
      SERVICE_DOCS_ENABLED: 'true',
    }),
  );
  console.log(`seed ${firstSeed}, ${seconds} s, ${service.origin}`);
  const [raw, schema] = await Promise.all([
    isRaw ? rawSide(service).catch(asFinding) : [],
    isSchema ? schemaSide(service).catch(asFinding) : [],
  ]);
  return [...raw, ...schema, ...logFlaws(service).map((line) => `in the log: ${line}`)];
}

/** A side that cannot go on: as a rule the service has ended, and its log says why. */
function asFinding(error: Error): string[] {
  return [`the run broke off: ${error.message}: ${String(error.cause ?? error.stack)}`];
}

async function rawSide(service: Service): Promise<string[]> {
  const lanes = await Promise.all(Array.from({ length: LANES }, () => Lane.open(service)));
  if (values.seed !== undefined) {
    const [lane] = lanes;
    return lane === undefined ? [] : (await lane.play(firstSeed)).findings.map(textOf);
  }
  const found: string[] = [];
  let seed = firstSeed;
  let talks = 0;
  const playUntil = (endMs: number) =>
    Promise.all(
      lanes.map(async (lane) => {
        while (performance.now() < endMs && isServing(service)) {
          const played = await lane.play(seed++);
          talks += played.talks;
          found.push(...played.findings.map(textOf));
        }
      }),
    );
  const startMs = performance.now();
  await playUntil(startMs + WARM_PART * seconds * 1_000);
  const beforeBytes = await settledBytes(service);
  await playUntil(startMs + seconds * 1_000);
  const afterBytes = await settledBytes(service);
  const mebibytes = [beforeBytes, afterBytes].map((bytes) => (bytes / 1_048_576).toFixed(1));
  console.log(
    `${talks} connections, ${seed - firstSeed} rounds; heap ${mebibytes.join(' to ')} MiB`,
  );
  const growth = growthFlaw(beforeBytes, afterBytes);
  return growth === undefined ? found : [...found, growth];
}

function isServing({ processes }: Service): boolean {
  return [...processes.values()].every(
    ({ exitCode, signalCode }) => (exitCode ?? signalCode) === null,
  );
}

function textOf({ seed, problems, sent, received }: Finding): string {
  return `${problems.join('; ')}\n  sent ${sent}\n  got  ${received}\n  again: make fuzz SEED=${seed}`;
}

async function schemaSide(service: Service): Promise<string[]> {
  const { key } = await newCaller(service);
  const common = { origin: service.origin, key, seed: firstSeed, tell: console.log };
  const run = { ...common, extent: { seconds } };
  const { findings, excepted, cases, isComplete } = await runSchema(run);
  console.log(`${cases} cases of Schemathesis`);
  for (const [name, count] of excepted) console.log(`  ${count} times as meant: ${name}`);
  const again = `  again: make fuzz SEED=${firstSeed} ARGS="--only schema"`;
  const incomplete = isComplete ? [] : ['Schemathesis did not come to its end'];
  return [...findings, ...incomplete].map((text) => `${text}\n${again}`);
}
