import { ASSUMED, type Capacity, capacityFor, type Load, unitCosts } from '#ctl/capacity/capacity';
import { MEASURED_MOST, sources } from '#ctl/capacity/measured';
import { CtlError, type PlanningCommand, type Values } from '#ctl/command';
import { table } from '#ctl/printed-text';

/** Default of `--headroom`, for peaks and for the load of a failed process. */
const HEADROOM = 0.4;

/** Maximum of `--headroom`. A larger share would leave too little capacity for calls. */
const HEADROOM_MAX = 0.9;

/** Default of `--keyed-share`: both client libraries send a key with every call. */
const KEYED_SHARE = 1;

/** Maximum of `--observations` and `--instances`, to catch typing errors. */
const NUMBER_MAX = 1e12;

/**
 * `ctl capacity`: computes the resources that a load needs, from measured costs. Needs no service.
 */
export const CAPACITY: PlanningCommand = {
  kind: 'planning',
  words: ['capacity'],
  summary: 'compute the processes and servers for a load',
  description: 'Computes from measured costs how many processes and servers a load needs.',
  args: [],
  options: {
    observations: {
      ...{ value: 'n', about: 'observations per second', isRequired: true },
      faultOf: amountFaultOf,
    },
    instances: {
      ...{ value: 'n', about: 'number of stored instances', isRequired: true },
      faultOf: amountFaultOf,
    },
    'keyed-share': {
      ...{
        value: 'part',
        about: `share of calls with an idempotency key (default ${KEYED_SHARE})`,
      },
      faultOf: partUpTo(1),
    },
    headroom: {
      ...{ value: 'part', about: `free share of each resource (default ${HEADROOM})` },
      faultOf: partUpTo(HEADROOM_MAX),
    },
  },
  run(values) {
    const load = loadOf(values);
    const capacity = capacityFor(load);
    if (capacity === undefined) {
      throw new CtlError(
        `this load needs more than ${ASSUMED.enginesMost} engines, the maximum per edge: use several clusters`,
      );
    }
    return { data: { load, ...capacity }, text: capacityText(load, capacity) };
  },
};

function loadOf(values: Values): Load {
  return {
    observations: numberIn(values.observations ?? ''),
    instances: numberIn(values.instances ?? ''),
    keyedShare: numberIn(values['keyed-share'] ?? String(KEYED_SHARE)),
    headroom: numberIn(values.headroom ?? String(HEADROOM)),
  };
}

function amountFaultOf(text: string): string | undefined {
  const value = numberIn(text);
  return value >= 1 && value <= NUMBER_MAX ? undefined : 'must be a number of at least 1';
}

function partUpTo(most: number) {
  return (text: string): string | undefined => {
    const value = numberIn(text);
    return value >= 0 && value <= most ? undefined : `must be a number from 0 to ${most}`;
  };
}

function numberIn(text: string): number {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

/** Table with one row per part, each with the reason for its number. */
function capacityText(load: Load, capacity: Capacity): string {
  const { edges, limiters, engines, cassandra, nats, shards } = capacity;
  const { keyedShare, headroom } = load;
  const keyed = (extra: number) => (keyedShare > 0 ? `, ${figure(extra)} µs more with a key` : '');
  const { edge, limiter } = unitCosts();
  const rows = [
    [
      'edges',
      edges.count,
      '1 core',
      `${figure(edges.busy)} busy cores: ${figure(edge.observation)} µs per call${keyed(edge.keyed)}`,
    ],
    [
      'limiters',
      limiters.count,
      '1 core',
      `${figure(limiters.busy)} busy cores: ${figure(limiter.observation)} µs per call${keyed(limiter.keyed)}`,
    ],
    ['engines', engines.count, `1 core, ${bytes(engines.bytesEach)}`, engineText(engines)],
    [
      'Cassandra',
      cassandra.count,
      `${ASSUMED.cassandraCores} cores`,
      `${figure(cassandra.busy)} busy cores: ${figure(cassandra.appendsPerSecond)} appends per second with their records, ${ASSUMED.copies} replicas`,
    ],
    [
      'disk',
      cassandra.count,
      `${bytes(cassandra.diskPerDayEach)} per day`,
      `plus ${bytes(cassandra.diskAtOnceEach)} for instances and keyed answers; keep half of the disk free for compaction`,
    ],
    [
      'NATS',
      nats.count,
      'small',
      `delivers ${bytes(nats.bytesPerSecond)} of heartbeats per second`,
    ],
    ['shards', shards, '-', '10 to 40 per engine (SERVICE_SHARDS; fixed after the first start)'],
  ] as const;
  return [
    `Load: ${figure(load.observations)} observations per second, ${figure(load.instances)} instances, ${percent(keyedShare)} of calls with an idempotency key.`,
    `Reserve: ${percent(headroom)} of each resource; one process or server of each kind may fail.`,
    '',
    table(['PART', 'NUMBER', 'SIZE OF EACH', 'REASON'], rows),
    '',
    ...extrapolations(load, capacity).map((line) => `Extrapolated: ${line}`),
    `Measurements in bench/RESULTS.md: ${sources().join('; ')}. Method and accuracy: docs/scale.md.`,
  ].join('\n');
}

/** Amounts of the plan beyond the measurements, one line each. */
function extrapolations({ instances }: Load, { engines, cassandra }: Capacity): string[] {
  const beyond = (what: string, planned: number, most: number) =>
    planned > most ? [`${figure(planned)} ${what}; measured with ${figure(most)}.`] : [];
  const { activeInstances, cassandraServers } = MEASURED_MOST;
  return [
    ...beyond('known instances', instances, MEASURED_MOST.instances),
    ...beyond('active instances in an engine', engines.active / engines.count, activeInstances),
    ...beyond('engines', engines.count, MEASURED_MOST.engines),
    ...beyond('Cassandra servers with three copies', cassandra.count, cassandraServers),
    'several machines with a network; measured on one machine.',
  ];
}

function engineText({ busy, active, groupRecords, perCheckpoint, areCold }: Capacity['engines']) {
  const memory = areCold
    ? `${figure(active)} instances in memory, each observation activates another instance`
    : `${figure(active)} instances in memory`;
  const groups = `${figure(groupRecords)} observations per append, ${figure(perCheckpoint)} per checkpoint`;
  return `${figure(busy)} busy cores; ${memory}; ${groups}`;
}

/** Formats a number with three significant digits and thousands separators. */
function figure(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 3 });
}

function percent(part: number): string {
  return `${figure(part * 100)} %`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

function bytes(value: number): string {
  const step = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(value) / 3));
  return `${figure(value / 1_000 ** step)} ${UNITS[step]}`;
}
