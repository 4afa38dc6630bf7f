import {
  CLUSTER,
  type DurableComparison,
  ENGINES,
  FRAMEWORKS,
  MANY,
  ON_FILE,
  onlyThese,
} from '#bench/durable/comparisons';
import { type DiskUse, measureDurable } from '#bench/durable/measure';
import type { DurableSizes } from '#bench/durable/rounds';
import { MANY_INSTANCES } from '#bench/load/observation-plan';
import type { ClosedResult } from '#bench/load/wrk';
import { numberText } from '#bench/measures/statistics';
import {
  comparedIn,
  type Limit,
  microsOf,
  type RatioTarget,
  type Targets,
} from '#bench/page/comparison';
import type { Figure, Findings, Part, Run, Table } from '#bench/page/part';
import type { Label } from '#bench/processes/servers';
import { TIMER_SLACK_NS } from '#deploy/local/servers/cassandra-server';

// 125 s: checkpoints lag up to two minutes. 90 s per number of connections: under durable load, JIT
// compilers take a third of Cassandra's CPU after 22 s and a hundredth after 150 s.
const FULL: DurableSizes = {
  rounds: 2,
  secondsPerRun: 8,
  warmUpS: 3,
  checkpointS: 125,
  isDrained: true,
  compileS: 90,
  instancesMax: MANY_INSTANCES,
  isDiskMeasured: true,
};
const QUICK: DurableSizes = {
  rounds: 1,
  secondsPerRun: 1,
  warmUpS: 1,
  checkpointS: 1,
  isDrained: false,
  compileS: 1,
  instancesMax: 1_000,
  isDiskMeasured: false,
};

const ABOUT =
  'The load observes all instances in turn. The service stores the state of instances in ' +
  `checkpoints, up to 2 min after an observation. Each measurement of the service begins after ` +
  `${FULL.checkpointS} s of load, when checkpoints run steadily. Load on the next server starts ` +
  'only when the previous server has no pending checkpoint.';

const SYNCED =
  'All stores sync to disk before they answer: Cassandra has `commitlog_sync: batch` and a timer ' +
  `slack of ${TIMER_SLACK_NS / 1_000} µs, PostgreSQL has \`fsync\` and \`synchronous_commit\` on. ` +
  'Redis has `appendfsync always`. The peers run the same model, check the API key and answer the ' +
  'same bytes, but have no limiter. With a key, a peer stores the answer in the same transaction. ' +
  '(pg) is a transaction with a row lock. (cas) and (redis) compare the version of the instance, ' +
  'and keep states in the memory of the HTTP process. Redis keeps history and answers in memory.';

const CASSANDRA_SIZES =
  'Sizes are table files after flush and compaction, without the commit log. ';
const SQLITE_SIZES = 'A size is the size of the pages of a table and its indexes. ';
const DISK =
  'Each size is divided by the number of observations. `heads` contains the newest history rows. ' +
  'The size of `answers` is divided by the number of observations with a key.';

const IDLE_CORES =
  'Most calls wait for the same process, or for the same write to disk, at the same time. The ' +
  'service therefore leaves a part of the two cores idle.';

/** Maximum size of a stored key with its answer. Source: the project's targets. */
const KEY_BYTES_MAX = 200;

/** The service on Cassandra with 1,000 instances, beside other servers. */
export const cluster: Part = {
  name: 'cluster',
  group: 'durable',
  title: 'Durable observations of 1,000 instances',
  about: `${SYNCED} ${ABOUT} ${CASSANDRA_SIZES}${DISK}`,
  missed: IDLE_CORES,
  needs: ['wrk', 'cassandra', 'postgres', 'redis'],
  measure: (run) =>
    measured(CLUSTER, run, {
      ratios: [
        ...against('d', 'pg', [4, 5]),
        ...against('d', 'cas', [2, 2.5]),
        ...against('k', 'd', [0.9, 0.9]),
        ...against('d', 'redis', [undefined, undefined]),
        ...against('k', 'pgk', [undefined, undefined]),
        ...against('k', 'cask', [undefined, undefined]),
        ...against('k', 'redisk', [undefined, undefined]),
      ],
      limits: [
        limit('d', 'p50 in ms', 64, 15, 'ms', ({ p50Ms }) => p50Ms),
        limit('d', 'p99 in ms', 64, 60, 'ms', ({ p99Ms }) => p99Ms),
        limit('d', 'CPU of Cassandra per observation', 256, 60, 'µs', cassandraMicros),
        limit('d', "the limiter's share of the CPU of all processes", 64, 10, '%', limiterPercent),
        limit('d', "the limiter's share of the CPU of all processes", 256, 10, '%', limiterPercent),
      ],
    }),
};

/** The service with three engines beside the service with one engine. */
export const engines: Part = {
  name: 'engines',
  group: 'engines',
  title: 'Three engines beside one engine',
  about: `All processes share two cores. ${ABOUT}`,
  needs: ['wrk', 'cassandra'],
  measure: (run) => measured(ENGINES, run, { ratios: against('d3', 'd', [0.8, undefined]) }),
};

/** The service beside frameworks for actors and durable functions. */
export const frameworks: Part = {
  name: 'frameworks',
  group: 'frameworks',
  title: 'Pekko, Restate and Dapr',
  about:
    'Pekko has sharded, event-sourced actors on the same Cassandra, with a stand-in for the model, ' +
    'so it does less work. Restate has a virtual object for each instance, and its server accepts ' +
    'the HTTP calls. Dapr has actors on Redis with `appendfsync always`, and its sidecar accepts the ' +
    `HTTP calls. All check the API key; none has a limiter. ${ABOUT}`,
  needs: ['wrk', 'cassandra', 'redis'],
  measure: (run) =>
    measured(FRAMEWORKS, run, {
      ratios: (['pekko', 'restate', 'dapr'] as const).flatMap((label) => [
        ...against('d', label, [undefined, undefined]),
        ...against('k', `${label}k`, [undefined, undefined]),
      ]),
    }),
};

/** The service on Cassandra with 50,000 instances, beside other servers. */
export const many: Part = {
  name: 'many',
  group: 'many',
  title: 'Durable observations of 50,000 instances in turn',
  about: `${SYNCED} ${ABOUT} ${CASSANDRA_SIZES}${DISK}`,
  missed: IDLE_CORES,
  needs: ['wrk', 'cassandra', 'postgres'],
  measure: (run) =>
    measured(MANY, run, {
      ratios: [
        ...against('d50', 'pg50', [2.5, 4]),
        ...against('d50', 'cas50', [1.35, 1.9]),
        ...against('k50', 'd50', [0.9, 0.9]),
      ],
    }),
};

/** The service on one SQLite file, beside Fastify without state. */
export const onFile: Part = {
  name: 'file',
  group: 'file',
  title: 'Durable observations on one SQLite file',
  about:
    'SQLite syncs each commit to disk before the service answers (WAL, `synchronous` FULL). (c) is ' +
    `Fastify with ajv, without state. ${ABOUT} ${SQLITE_SIZES}${DISK}`,
  missed: 'Fastify has no state, authentication, limiter or model, and writes nothing to disk.',
  needs: ['wrk'],
  measure: (run) =>
    measured(ON_FILE, run, {
      ratios: [...against('e', 'c', [0.9, undefined]), ...against('ke', 'c', [0.8, undefined])],
      limits: [
        limit('e', 'p50 in ms', 64, 6, 'ms', ({ p50Ms }) => p50Ms),
        limit('e', 'p99 in ms', 64, 25, 'ms', ({ p99Ms }) => p99Ms),
      ],
    }),
};

async function measured(
  comparison: DurableComparison,
  run: Run,
  targets: Targets,
): Promise<Findings> {
  const sizes = run.isQuick ? QUICK : FULL;
  const { rounds, disk } = await measureDurable(onlyThese(comparison, run.servers), sizes, run);
  const found = comparedIn(rounds, targets);
  return {
    ...found,
    figures: [...found.figures, ...disk.flatMap(keyFigure)],
    tables: [...found.tables, ...(disk.length === 0 ? [] : [diskTable(disk)])],
  };
}

/** Ratios at 64 and at 256 connections. */
function against(
  ours: Label,
  theirs: Label,
  [few, many]: readonly [number | undefined, number | undefined],
): RatioTarget[] {
  return [
    { ours, theirs, connections: 64, ...(few === undefined ? {} : { least: few }) },
    { ours, theirs, connections: 256, ...(many === undefined ? {} : { least: many }) },
  ];
}

function limit(
  label: Label,
  what: string,
  connections: number,
  most: number,
  unit: string,
  read: (result: ClosedResult) => number,
): Limit {
  return { label, what, connections, most, unit, read };
}

function cassandraMicros(result: ClosedResult): number {
  return microsOf(result, (name) => name === 'cassandra');
}

function limiterPercent(result: ClosedResult): number {
  const limiter = microsOf(result, (name) => name === 'limiter');
  return (100 * limiter) / microsOf(result, (name) => name !== 'wrk');
}

function keyFigure({ labels, keyed, bytesByTable }: DiskUse): Figure[] {
  if (keyed === 0) return [];
  const bytes = (bytesByTable.get('answers') ?? 0) / keyed;
  return [
    {
      what: `bytes stored per key, ${labels.join(' and ')}`,
      target: `≤ ${KEY_BYTES_MAX} bytes`,
      reached: `${numberText(bytes, 0)} bytes`,
      isMet: bytes <= KEY_BYTES_MAX,
    },
  ];
}

/** Tables of the store with a column of their own. All other tables share the column `others`. */
const TABLES = ['heads', 'history', 'drift', 'journal'] as const;

function diskTable(disk: readonly DiskUse[]): Table {
  const rows = disk.map(({ labels, observations, keyed, bytesByTable }) => {
    const bytesOf = (table: string) => bytesByTable.get(table) ?? 0;
    const parts = TABLES.map(bytesOf);
    const answers = bytesOf('answers');
    const all = [...bytesByTable.values()].reduce((sum, bytes) => sum + bytes, 0) - answers;
    const others = parts.reduce((left, bytes) => left - bytes, all);
    const each = [all, ...parts, others].map((bytes) => bytesPer(observations, bytes));
    const ofKey = keyed === 0 ? '' : bytesPer(keyed, answers);
    return { name: labels.join(' and '), cells: [observations, ...each, keyed, ofKey] };
  });
  const columns = [
    ...['all', ...TABLES.map((table) => `\`${table}\``), 'others'].map(inTenths),
    { name: 'observations with a key' },
    inTenths('`answers` per key'),
  ];
  return {
    name: 'Bytes on disk per observation',
    columns: [{ name: 'observations' }, ...columns],
    rows,
  };
}

function inTenths(name: string) {
  return { name, decimals: 1 };
}

function bytesPer(count: number, bytes: number): number {
  return Number((bytes / count).toFixed(1));
}
