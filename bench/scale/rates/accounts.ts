import type { BenchAccount } from '#bench/limiter/bench-accounts';
import { type LimiterService, startLimiterService } from '#bench/limiter/limiter-service';
import { openMeterDecisions } from '#bench/limiter/meter-decisions';
import { activeMeters, unflushedRecords, untilNone, untilStored } from '#bench/measures/gauges';
import { Inspector } from '#bench/measures/inspector';
import { mebibytes, numberText } from '#bench/measures/statistics';
import { atMost, figure, type Part } from '#bench/page/part';
import { bytesEach, memoryStages } from '#bench/scale/memory-stage';
import { knownAccount, seedKnownAccounts } from '#bench/scale/rates/known-accounts';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';

/** Maximum live bytes of an active account's meter: 1.25 KiB. Source: docs/limiter.md. */
const METER_BYTES_MAX = 1_280;

/** Decisions in flight. */
const IN_FLIGHT = 64;

/** Maximum wait until all meters are evicted, in ms. */
const LEFT_MS_MAX = 600_000;

/** Known accounts, active accounts, and idle seconds before the eviction of a meter. */
type Sizes = { readonly known: number; readonly active: number; readonly idleS: number };

// Eviction after 300 s instead of 15 minutes: long enough to activate and measure all meters.
const FULL: Sizes = { known: 1_000_000, active: 100_000, idleS: 300 };
const QUICK: Sizes = { known: 2_000, active: 1_000, idleS: 30 };

/** Memory of a limiter for active, known and evicted accounts. */
export const accounts: Part = {
  name: 'accounts',
  group: 'accounts',
  isLong: true,
  title: 'Memory of one limiter: 100,000 active accounts, 1,000,000 known',
  about:
    'Each account makes one decision. Then all accounts are idle until the limiter evicts them.',
  needs: ['cassandra'],
  async measure({ isQuick, print }) {
    const { known, active, idleS } = isQuick ? QUICK : FULL;
    const variables = { SERVICE_ACTOR_IDLE_S: `${idleS}` };
    await using service = await startLimiterService(print, ['--inspect=127.0.0.1:0'], variables);
    const { cassandra, limiter, metricsUrl } = service;
    using inspector = await Inspector.connect(limiter);
    const stage = memoryStages(inspector, print);
    const meters = () => activeMeters([metricsUrl]);
    const untilLeft = () => untilNone(meters, 'meters are still in memory', print, LEFT_MS_MAX);

    await decideEach(service, service.accounts);
    await using session = await sessionIn(cassandra.address, cassandra.keyspace);
    await seedKnownAccounts(session, known, print);
    await untilLeft();
    const before = await stage('all known, none active');

    // Active accounts are spread evenly over all known accounts, so that reads share no table
    // blocks.
    const stride = known / active;
    const chosen = Array.from({ length: active }, (_, i) => knownAccount(Math.floor(i * stride)));
    const tookS = await decideEach(service, chosen);
    const decidedMs = performance.now();
    // In a quick run, idle meters leave memory before the last checkpoint. Both wait for the gauges.
    if (isQuick) await unflushedRecords([metricsUrl]);
    else await untilStored([metricsUrl], print);
    const count = await meters();
    if (count !== active) throw new Error(`expected ${active} active meters, got ${count}`);
    const full = await stage('active');

    await untilLeft();
    const leftS = (performance.now() - decidedMs) / 1_000;
    const after = await stage('idle meters evicted');
    const each = bytesEach(before, full, active);
    const kept = bytesEach(before, after, active);
    const figures = [
      atMost('live memory of the meter of an active account', each.live, METER_BYTES_MAX, 'bytes'),
      figure(
        'resident memory of the meter after garbage collection',
        `${numberText(each.resident, 0)} bytes`,
      ),
      figure('resident memory of the limiter, all accounts active', mebibytes(full.residentBytes)),
      figure(
        'resident memory of the limiter, no account active, after garbage collection',
        mebibytes(before.collected.residentBytes),
      ),
      figure(
        'rate of accounts that become active',
        `${Math.round(active / tookS).toLocaleString('en')}/s`,
      ),
      figure(
        `eviction of the last meter, with an idle limit of ${idleS} s`,
        `${leftS.toFixed(0)} s after the last decision`,
      ),
      figure('live memory per account after eviction', `${kept.live.toFixed(0)} bytes`),
    ];
    return { figures };
  },
};

/**
 * Takes a decision with settlement for each account. Returns the duration in s. Throws if the
 * limiter refuses.
 */
async function decideEach(
  { address }: LimiterService,
  chosen: readonly BenchAccount[],
): Promise<number> {
  await using decisions = await openMeterDecisions(address, chosen, 1);
  const startedMs = performance.now();
  await forEachConcurrently([...chosen.keys()], IN_FLIGHT, async (account) => {
    if (!(await decisions.decide(account))) throw new Error(`account ${account} was refused`);
  });
  return (performance.now() - startedMs) / 1_000;
}
