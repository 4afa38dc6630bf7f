import { setTimeout as sleep } from 'node:timers/promises';
import { untilStoredIn } from '#bench/measures/gauges';
import { BYTES_PER_MIB } from '#bench/measures/statistics';
import { atMost, type Figure, figure, type Part } from '#bench/page/part';
import { startInspectedEngine } from '#bench/scale/fail-over/inspected-engine';
import { bytesEach } from '#bench/scale/memory-stage';
import { HostileAccount, hostileName } from '#bench/scale/rates/hostile-account';
import {
  type KnownAccount,
  knownAccount,
  seedKnownAccounts,
} from '#bench/scale/rates/known-accounts';
import { latenciesOf, latenciesText, timed } from '#bench/scale/rates/latencies';
import { type Observed, SteadyObservers } from '#bench/scale/rates/steady-observers';
import { seedInstances } from '#bench/scale/seed';
import type { CassandraSession } from '#storage/cassandra/session';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';

/** Maximum memory of the engine in MiB: its limit per actor kind (`SERVICE_ACTOR_MEMORY_MIB`). */
const ENGINE_MIB_MAX = 1_024;

/** Maximum memory left after the load, in MiB: half of `UNFLUSHED_BYTES_MAX`. */
const LEFT_MIB_MAX = 64;

/** Maximum p99 of other accounts, in ms. Source: the project's targets for noisy neighbors. */
const OTHERS_P99_MS_MAX = 250;
const OTHERS_FAILED_PERCENT_MAX = 1;

/** Maximum wait while a listing loads, in ms: the same as in a fail-over. */
const LOAD_WAIT_MS_MAX = 1_000;

const mib = (bytes: number) => bytes / BYTES_PER_MIB;

/**
 * `made`: number of instances that the account creates through the API. Its callers delete and
 * recreate these instances. All other instances up to `limit` are seeded.
 */
const FULL = { limit: 100_000, made: 500, warmUpS: 10, calmS: 20, hostileS: 40 };
const QUICK = { limit: 2_000, made: 50, warmUpS: 2, calmS: 3, hostileS: 5 };

/** Effect of an account at its instance limit on its engine and on other accounts. */
export const limit: Part = {
  name: 'limit',
  group: 'accounts',
  isLong: true,
  title: 'A hostile account at its limit of 100,000 instances',
  about:
    'Callers of the hostile account list, create and delete instances as fast as possible. Other ' +
    'accounts send observations to the same engine at a steady rate. The listing is the list of all ' +
    'instances of the account in memory.',
  missed: 'List pages of the hostile account use both cores completely.',
  needs: ['cassandra'],
  async measure({ isQuick, print }) {
    const sizes = isQuick ? QUICK : FULL;
    await using engine = await startInspectedEngine(print);
    const { service, inspector, stage } = engine;
    await using session = await sessionIn(service.cassandra.address, service.keyspace);
    const account = await seedAccount(session, sizes, print);
    const hostile = new HostileAccount(service.address, account, sizes.limit);
    using others = new SteadyObservers(service);
    await others.create();

    await others.during(() => sleep(1_000 * sizes.warmUpS));
    const before = await stage('before');
    print('measuring other accounts without the load');
    const calm = await others.during(() => sleep(1_000 * sizes.calmS));
    print('loading the listing');
    let loadMs = 0;
    const loading = await others.during(async () => {
      loadMs = (await timed(() => untilListed(hostile))).ms;
    });
    await hostile.fill(sizes.made);
    const loaded = await stage('loaded');
    hostile.counts.clear();
    print('measuring other accounts beside the hostile account');
    const untilMs = performance.now() + 1_000 * sizes.hostileS;
    const disturbed = await others.during(() => hostile.hammer(untilMs));
    const during = await inspector.memory();
    print(answersOf(hostile));
    await untilStoredIn({ isQuick, print }, service.metricsUrls);
    const after = await stage('after');

    const stages = [before, loaded, { residentBytes: during.residentBytes }, after];
    const resident = stages.map(({ residentBytes }) => mib(residentBytes).toFixed(0)).join('; ');
    const left = after.collected.liveBytes - loaded.collected.liveBytes;
    const each = bytesEach(before, loaded, sizes.limit).live.toFixed(0);
    const highest = mib(await engine.highestBytes());
    const figures = [
      ...othersFigures('other accounts before the hostile load', calm),
      figure('latency of the first page, which loads the listing', `${loadMs.toFixed(0)} ms`),
      ...waitFigures(loading),
      ...othersFigures('other accounts during the hostile load', disturbed),
      figure(
        'latency of other accounts during the load, divided by the latency before: p50; p99',
        ratiosOf(disturbed, calm),
      ),
      figure(`answers to the hostile account in ${sizes.hostileS} s`, answersOf(hostile)),
      figure(
        'live memory of a listed instance whose name has 100 emoji and digits',
        `${each} bytes`,
      ),
      figure(
        'resident memory of the engine: at start; with the listing; at the end of the load; afterwards',
        `${resident} MiB`,
      ),
      atMost('highest resident memory of the engine', highest, ENGINE_MIB_MAX, 'MiB'),
      atMost('growth of live memory by the load', mib(left), LEFT_MIB_MAX, 'MiB', 1),
    ];
    return { figures };
  },
};

/**
 * Creates an account with a limit of `limit` instances and seeds most instances into its listing.
 */
async function seedAccount(
  session: CassandraSession,
  { limit: instancesMax, made }: typeof FULL,
  print: (line: string) => void,
): Promise<KnownAccount> {
  await seedKnownAccounts(session, 1, print);
  const account = knownAccount(0);
  const change = 'UPDATE accounts SET instances = ? WHERE account_id = ?';
  const options = { kind: 'write', operation: 'seed_account' } as const;
  await session.execute(change, [BigInt(instancesMax), account.id], options);
  const listed = { count: instancesMax - made, accountIds: [account.id], isListed: true };
  await seedInstances({ session, ...listed, nameOf: hostileName, print });
  return account;
}

/** Resolves when the service answers a page. Retries while the listing loads. */
async function untilListed(hostile: HostileAccount): Promise<void> {
  while ((await hostile.list()) === undefined);
}

function othersFigures(what: string, { times, failed }: Observed): Figure[] {
  const latencies = latenciesOf(times);
  const failedPercent = (100 * failed) / (times.length + failed);
  return [
    {
      what: `latency of ${what}: p50, p99, longest`,
      target: `p99 ≤ ${OTHERS_P99_MS_MAX} ms`,
      reached: `${latenciesText(latencies)} ms`,
      isMet: latencies.p99 <= OTHERS_P99_MS_MAX,
    },
    atMost(`unanswered calls of ${what}`, failedPercent, OTHERS_FAILED_PERCENT_MAX, '%', 2),
  ];
}

function ratiosOf(disturbed: Observed, calm: Observed): string {
  const [loaded, without] = [latenciesOf(disturbed.times), latenciesOf(calm.times)];
  return `${(loaded.p50 / without.p50).toFixed(1)}; ${(loaded.p99 / without.p99).toFixed(1)}`;
}

/** Longest latency of calls that were due while the listing loaded. */
function waitFigures({ times, failed }: Observed): Figure[] {
  const { longest } = latenciesOf(times);
  return [
    atMost(
      'longest latency of other accounts while the listing loads',
      longest,
      LOAD_WAIT_MS_MAX,
      'ms',
    ),
    atMost('unanswered calls of other accounts while the listing loads', failed, 0, 'calls'),
  ];
}

/**
 * Answer counts as text. Throws if the service refused no create: the account was below its limit.
 */
function answersOf({ counts }: HostileAccount): string {
  if (!counts.has('create 403'))
    throw new Error('the service refused no create, so the account is below its limit');
  const answers = [...counts].sort().map(([what, count]) => `${what}: ${count}`);
  return answers.join(', ');
}
