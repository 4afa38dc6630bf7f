import { setTimeout as sleep } from 'node:timers/promises';
import type { DurableService } from '#bench/durable/service';
import { ownedShards } from '#bench/measures/gauges';
import { BYTES_PER_MIB } from '#bench/measures/statistics';
import { atMost, type Figure, figure, type Part } from '#bench/page/part';
import { untilAnswered } from '#bench/processes/readiness';
import { startInspectedEngine } from '#bench/scale/fail-over/inspected-engine';
import { bytesEach } from '#bench/scale/memory-stage';
import {
  type KnownAccount,
  knownAccount,
  seedKnownAccounts,
} from '#bench/scale/rates/known-accounts';
import { latenciesOf, latenciesText } from '#bench/scale/rates/latencies';
import { seededId, seedInstances } from '#bench/scale/seed';
import { sessionIn } from '#test/storage/cassandra/migrated-keyspace';

/** Targets of the project. */
const QUERY_MS_MAX = 50;
const INSTANCE_BYTES_MAX = 48;
const COMPLETE_S_MAX = 5;

/** Time after which an index counts as failed, in milliseconds. */
const BUILD_MS_MAX = 600_000;

/** `observed`: instances that change during the load. `perS`: observations in a second. */
const FULL = { instances: 1_000_000, observed: 20_000, perS: 2_000, queries: 400, storedS: 100 };
const QUICK = { instances: 6_000, observed: 1_000, perS: 500, queries: 20, storedS: 2 };

/** Observations in a call. */
const OBSERVATIONS = 500;

const TEAMS = 50;
const tagsJsonOf = (index: number) => {
  const team = `team ${index % TEAMS}`;
  return JSON.stringify({
    team,
    tier: `${index % 3}`,
    region: `r${index % 7}`,
    owner: `${index % 11}`,
  });
};

/** Filters, counts and take-over of the index of a large account. */
export const fleetIndex: Part = {
  name: 'index',
  group: 'fail-over',
  isLong: true,
  title: 'Index of one account of 1,000,000 instances',
  about:
    'Each instance has four tags. Queries come one after the other: pages of 20 instances with random ' +
    'filters and sorts, one that finds nothing and is sorted by name, and counts. Memory is what garbage ' +
    'collection keeps more than with the list of instances alone.',
  missed:
    'A query reads the columns of all instances in 5 to 20 ms of CPU, and the 20 rows of its page from ' +
    'Cassandra. Cassandra, engine, edge and caller share two cores. The longest calls wait for garbage ' +
    'collections. After a fail-over, loading the list of instances takes more than half of the time.',
  needs: ['cassandra'],
  async measure({ isQuick, print }) {
    const sizes = isQuick ? QUICK : FULL;
    await using engine = await startInspectedEngine(print);
    const { service, stage } = engine;
    await using session = await sessionIn(service.cassandra.address, service.keyspace);
    await seedKnownAccounts(session, 1, print);
    const account = knownAccount(0);
    const seed = { count: sizes.instances, accountIds: [account.id], isListed: true, tagsJsonOf };
    await seedInstances({ session, ...seed, print });
    const fleet = new FleetReader(service.address, account);

    print('loading the list of instances');
    const listedMs = await fleet.untilAnswered('/instances?limit=1');
    const listed = await stage('listed');
    print('building the index from all instances');
    const builtMs = await fleet.untilAnswered('/fleet');
    const indexed = await stage('indexed');
    const memory = indexed.collected;
    const each = bytesEach(listed, indexed, sizes.instances);
    print(`index built in ${builtMs.toFixed(0)} ms, ${JSON.stringify(each)} bytes an instance`);
    await fleet.check(sizes.instances);

    print('queries without load');
    const calm = await fleet.queries(sizes.queries);
    print('queries under load');
    const load = new ObservationLoad(service.address, account, sizes.observed, sizes.perS);
    const [busy, observed] = await load.during(() => fleet.queries(sizes.queries));
    await fleet.check(sizes.instances);

    print(`waiting ${sizes.storedS} s, until the index is stored`);
    for (let s = 0; s < sizes.storedS; s += 10) {
      await fleet.untilAnswered('/fleet');
      await sleep(10_000);
    }
    print('kill -9 of the engine');
    await killAndRestart(service);
    const relistedMs = await fleet.untilAnswered('/instances?limit=1');
    const completeMs = relistedMs + (await fleet.untilAnswered('/fleet'));
    await fleet.check(sizes.instances);
    const figures = [
      figure('time of the first page, which loads the list', seconds(listedMs)),
      figure('time of the first build, which reads every instance', seconds(builtMs)),
      atMost('memory of an instance in the index', each.live, INSTANCE_BYTES_MAX, 'bytes', 1),
      figure(
        'resident memory of the engine with the index',
        `${(memory.residentBytes / BYTES_PER_MIB).toFixed(0)} MiB`,
      ),
      ...queryFigures('without load', calm),
      figure('observations during the queries under load', `${observed.toFixed(0)}/s`),
      ...queryFigures('under load', busy),
      figure('of these, time of the list of instances', seconds(relistedMs)),
      atMost(
        'time after a fail-over until the index is complete',
        completeMs / 1_000,
        COMPLETE_S_MAX,
        's',
        1,
      ),
    ];
    return { figures };
  },
};

/** Kills the engine and starts it again. Resolves when it owns all shards. */
async function killAndRestart(service: DurableService): Promise<void> {
  const owned = await ownedShards(service.metricsUrls);
  for (const engine of service.engines) {
    engine.kill('SIGKILL');
    await engine.ended();
  }
  const again = service.startAgain(0);
  await untilAnswered(again, async () =>
    (await ownedShards(service.metricsUrls)) === owned ? true : undefined,
  );
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

type Times = { readonly filtered: number[]; readonly nothing: number[]; readonly counts: number[] };

function queryFigures(when: string, { filtered, nothing, counts }: Times): Figure[] {
  return Object.entries({
    'a filtered page': filtered,
    'a page that finds nothing, by name': nothing,
    counts,
  }).map(([what, times]) => {
    const latencies = latenciesOf(times);
    return {
      what: `latency of ${what}, ${when}: p50, p99, longest`,
      target: `p99 ≤ ${QUERY_MS_MAX} ms`,
      reached: `${latenciesText(latencies)} ms`,
      isMet: latencies.p99 <= QUERY_MS_MAX,
    };
  });
}

type Counts = Readonly<Record<string, number>>;

/** Reads the fleet of an account. */
class FleetReader {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(address: string, { key }: KnownAccount) {
    this.#url = `${address}/v1`;
    this.#headers = { authorization: `Bearer ${key}` };
  }

  /** Time until a path answers 200, in milliseconds. Repeats 503 only. */
  async untilAnswered(path: string): Promise<number> {
    const startMs = performance.now();
    for (;;) {
      const { status, body } = await this.#get(path);
      if (status === 200) return performance.now() - startMs;
      if (status !== 503) throw new Error(`${path} answered ${status}: ${body}`);
      if (performance.now() - startMs > BUILD_MS_MAX) throw new Error(`no answer: ${body}`);
      await sleep(100);
    }
  }

  /** Throws unless the sum of every group of counts is the number of instances. */
  async check(instances: number): Promise<void> {
    const { body } = await this.#get('/fleet');
    const { data } = JSON.parse(body);
    const sumOf = (counts: Counts) => Object.values(counts).reduce((sum, one) => sum + one, 0);
    for (const group of ['stress_states', 'drift_levels', 'dominant_modes']) {
      const sum = sumOf(data[group]) + data.unknown;
      if (sum !== instances || data.total !== instances) throw new Error(`${group}: ${body}`);
    }
    if (data.unknown !== 0) throw new Error(`unknown instances: ${body}`);
  }

  /** Times of queries in milliseconds, `count` of each kind. */
  async queries(count: number): Promise<Times> {
    const times: Times = { filtered: [], nothing: [], counts: [] };
    for (let n = 0; n < count; n += 1) {
      times.filtered.push(await this.#timed(`/instances?${randomFilter(n)}`));
      times.nothing.push(await this.#timed('/instances?tag.team=nobody&sort=name'));
      times.counts.push(await this.#timed('/fleet'));
    }
    return times;
  }

  async #timed(path: string): Promise<number> {
    const startMs = performance.now();
    const { status, body } = await this.#get(path);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${body}`);
    return performance.now() - startMs;
  }

  async #get(path: string) {
    const answer = await fetch(`${this.#url}${path}`, { headers: this.#headers });
    return { status: answer.status, body: await answer.text() };
  }
}

const FILTERS = [
  'stress=HIGH,OVER',
  'stress=LOW',
  'drift=D1,D2,D3',
  'drift=D0&stress=LOW,MED',
  'dominant_mode=Order',
  'dominant_mode=Connection,Identity,None',
  'tag.team=team%207',
  'tag.tier=1&tag.region=r3',
  'tag.owner=4&stress=LOW&dominant_mode=Exploration',
];
const SORTS = ['created_at', 'name', 'changed_at'];

function randomFilter(n: number): string {
  const filter = FILTERS[n % FILTERS.length];
  const sort = SORTS[Math.floor(n / FILTERS.length) % SORTS.length];
  return `${filter}&sort=${sort}&order=${n % 2 === 0 ? 'asc' : 'desc'}&limit=20`;
}

/** Observations that change instances of an account. */
class ObservationLoad {
  readonly #address: string;
  readonly #account: KnownAccount;
  readonly #instances: number;
  readonly #perS: number;

  constructor(address: string, account: KnownAccount, instances: number, perS: number) {
    this.#address = address;
    this.#account = account;
    this.#instances = instances;
    this.#perS = perS;
  }

  /** Runs `work` beside the load. Returns its result, and the observations in a second. */
  async during<Result>(work: () => Promise<Result>): Promise<[Result, number]> {
    let isOver = false;
    const startMs = performance.now();
    let sent = 0;
    const sending = (async () => {
      while (!isOver) {
        await this.#observe(sent);
        sent += OBSERVATIONS;
        await sleep(Math.max(0, startMs + (1_000 * sent) / this.#perS - performance.now()));
      }
    })();
    try {
      const result = await work();
      return [result, (1_000 * sent) / (performance.now() - startMs)];
    } finally {
      isOver = true;
      await sending;
    }
  }

  /** Every second round raises the stress of the instances, and the others are calm. */
  async #observe(sent: number): Promise<void> {
    const isCalm = Math.floor(sent / this.#instances) % 2 === 1;
    const [mode_target, signal_strength] = isCalm ? ['CONNECTION', 0.5] : ['STRESS_RESPONSE', 1];
    const observations = Array.from({ length: OBSERVATIONS }, (_, n) => {
      const instance_id = seededId((sent + n) % this.#instances);
      return { instance_id, mode_target, signal_strength };
    });
    const { key } = this.#account;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify({ observations }) };
    const answer = await fetch(`${this.#address}/v1/process`, init);
    if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
    const { data } = (await answer.json()) as { data: { summary: { applied: number } } };
    if (data.summary.applied === 0) throw new Error(JSON.stringify(data));
  }
}
