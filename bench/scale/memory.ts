import { setTimeout as sleep } from 'node:timers/promises';
import type { DurableService } from '#bench/durable/service';
import { HttpCaller } from '#bench/load/http-caller';
import { at } from '#bench/load/process-answer';
import { activeInstances, untilStored } from '#bench/measures/gauges';
import { BYTES_PER_MIB, mebibytes } from '#bench/measures/statistics';
import { bytesEach, type MemoryStage } from '#bench/scale/memory-stage';
import { ObservedInstances } from '#bench/scale/observed-instances';
import {
  type KnownAccount,
  knownAccount,
  seedKnownAccounts,
} from '#bench/scale/rates/known-accounts';
import { atMost, figure, type ScalePart } from '#bench/scale/scale-part';
import { seededId, seededName, seedInstances } from '#bench/scale/seed';
import { startInspectedEngine } from '#bench/scale/takeovers/inspected-engine';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';

/** Instances before the first measurement, so that its memory includes code and tables. */
const WARM_UP_INSTANCES = 1_000;

/** Maximum live bytes of an idle instance in memory. Source: the project's targets. */
const INSTANCE_BYTES_MAX = 2_048;

/**
 * Maximum memory of an engine with 100,000 active instances in MiB. Source: the project's targets.
 */
const ENGINE_MIB_MAX = 1_024;

/** Seconds without requests until instances count as idle. */
const IDLE_S = 45;
const PRINT_EVERY_S = 8;

/** Number of instances, and waiting times. */
const FULL = {
  active: 100_000,
  seeded: 900_000,
  accounts: 900,
  checked: 500,
  idleS: IDLE_S,
  isStoring: true,
};

type Sizes = Readonly<typeof FULL>;

/** A quick run does not wait for checkpoints. */
const QUICK: Sizes = {
  active: 1_000,
  seeded: 2_000,
  accounts: 10,
  checked: 50,
  idleS: 1,
  isStoring: false,
};

/** Memory of an engine with active instances and with instances that are only stored. */
export const memory: ScalePart = {
  name: 'memory',
  title: 'Memory of one engine: 100,000 active instances, 1,000,000 known',
  async measure({ isQuick, print }) {
    const sizes = isQuick ? QUICK : FULL;
    await using engine = await startInspectedEngine(print);
    const { service, stage } = engine;

    using few = new ObservedInstances(service, print);
    await makeActive(few, WARM_UP_INSTANCES);
    await untilIdle(service, sizes, print);
    const before = await stage('warm');
    using instances = new ObservedInstances(service, print);
    await makeActive(instances, sizes.active);
    await untilIdle(service, sizes, print);
    const active = await stage(`${sizes.active} active`);
    await seedAndCheck(service, sizes, print);
    await observeAll(instances);
    const known = await stage('all known, active instances observed again');
    const total = sizes.active + sizes.seeded + WARM_UP_INSTANCES;
    const activeAtEnd = await activeInstances(service.metricsUrls);
    if (activeAtEnd < sizes.active) throw new Error(`only ${activeAtEnd} instances are active`);

    const each = bytesEach(before, active, sizes.active);
    const many = total.toLocaleString('en');
    const some = sizes.active.toLocaleString('en');
    const residentMib = (title: string, { residentBytes }: MemoryStage) =>
      atMost(
        `resident memory of the engine, ${title}`,
        residentBytes / BYTES_PER_MIB,
        ENGINE_MIB_MAX,
        'MiB',
      );
    return [
      atMost('live memory of an idle active instance', each.live, INSTANCE_BYTES_MAX, 'bytes'),
      figure(
        'resident memory of the instance after garbage collection',
        `${each.resident.toFixed(0)} bytes`,
      ),
      residentMib(`${some} active, all idle`, active),
      residentMib(
        `${many} known, ${activeAtEnd.toLocaleString('en')} active, just observed`,
        known,
      ),
      atMost(
        'highest resident memory of the engine',
        (await engine.highestBytes()) / BYTES_PER_MIB,
        ENGINE_MIB_MAX,
        'MiB',
      ),
      figure(
        'resident memory of the engine at start, 1,000 active',
        mebibytes(before.residentBytes),
      ),
      figure('number of inactive instances that answered correctly', `${sizes.checked}`),
    ];
  },
};

/** Creates instances and observes each once. */
async function makeActive(instances: ObservedInstances, count: number): Promise<void> {
  await instances.create(count);
  await observeAll(instances);
}

function observeAll(instances: ObservedInstances): Promise<void> {
  return instances.observeEach(instances.ids.map((_, i) => i));
}

/** Resolves after a quiet period, when everything is checkpointed. */
async function untilIdle(
  service: DurableService,
  { idleS, isStoring }: Sizes,
  print: (line: string) => void,
): Promise<void> {
  for (let leftS = idleS; leftS > 0; leftS -= PRINT_EVERY_S) {
    print(`idle for another ${leftS} s`);
    await sleep(1_000 * Math.min(leftS, PRINT_EVERY_S));
  }
  if (isStoring) await untilStored(service.metricsUrls, print);
}

/** Seeds instances without activation, then reads and observes some through the API. */
async function seedAndCheck(
  service: DurableService,
  { seeded, accounts: accountCount, checked }: Sizes,
  print: (line: string) => void,
): Promise<void> {
  await using session = await sessionIn(service.cassandra.address, service.keyspace);
  await seedKnownAccounts(session, accountCount, print);
  const accounts = Array.from({ length: accountCount }, (_, index) => knownAccount(index));
  const accountIds = accounts.map(({ id }) => id);
  await seedInstances({ session, count: seeded, accountIds, isListed: true, print });
  const stride = Math.floor(seeded / checked);
  for (let nth = 0; nth < checked; nth += 1) {
    const index = nth * stride + Math.floor(Math.random() * stride);
    await checkSeeded(service, index, accounts);
  }
  print(`${checked} seeded instances answered correctly`);
}

async function checkSeeded(
  { address }: DurableService,
  index: number,
  accounts: readonly KnownAccount[],
): Promise<void> {
  const { key = '' } = accounts[index % accounts.length] ?? {};
  using caller = new HttpCaller(address, key);
  const path = `/v1/instances/${seededId(index)}`;
  const name = at(await caller.send({ method: 'GET', path }), ['data', 'name']);
  if (name !== seededName(index)) throw new Error(`${path} has the wrong name ${name}`);
  const body = JSON.stringify({ mode_target: 'ORDER', signal_strength: 0.6 });
  const answer = await caller.send({ method: 'POST', path: `${path}/process`, body });
  const cycle = at(answer, ['data', 'snapshot', 'cycle']);
  if (cycle !== 1) throw new Error(`${path} is at cycle ${cycle}, not 1`);
}
