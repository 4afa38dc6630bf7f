import { ASSUMED, type Capacity, capacityFor, type Load, UNIT_COSTS } from '#ctl/capacity/capacity';
import { MEASURED } from '#ctl/capacity/measured';
import { CtlError, type PlanningCommand, type Values } from '#ctl/command';
import { table } from '#ctl/printed-text';

/** Default of `--headroom`: room for peaks and for the load of a failed process. */
const HEADROOM = 0.4;

/** Maximum of `--headroom`. More would leave too little to serve. */
const HEADROOM_MAX = 0.9;

/** Default of `--keyed-share`: both client libraries send a key with every call. */
const KEYED_SHARE = 1;

/** Maximum of observations and instances. Larger numbers are mistakes. */
const NUMBER_MAX = 1e12;

/** Benchmark reports that the figures come from. */
const SOURCES = [...new Set(Object.values(MEASURED).map(({ source }) => source))].filter((source) =>
  source.startsWith('bench/'),
);

/**
 * `ctl capacity`: computes the resources that a load needs, from measured costs. Needs no service.
 */
export const CAPACITY: PlanningCommand = {
  kind: 'planning',
  words: ['capacity'],
  summary: 'compute the processes and servers that a load needs',
  description: 'Computes from measured costs how many processes and servers a load needs.',
  args: [],
  options: {
    observations: {
      ...{ value: 'n', about: 'observations a second', isRequired: true },
      faultOf: amountFaultOf,
    },
    instances: {
      ...{ value: 'n', about: 'number of stored instances', isRequired: true },
      faultOf: amountFaultOf,
    },
    'keyed-share': {
      ...{ value: 'part', about: `share of calls with an idempotency key (default ${KEYED_SHARE})` },
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
        `this load needs more than ${ASSUMED.enginesMost} engines, the most that an edge connects to: use several clusters`,
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

function amountFaultOf(said: string): string | undefined {
  const value = numberIn(said);
  return value >= 1 && value <= NUMBER_MAX ? undefined : 'must be a number of at least 1';
}

function partUpTo(most: number) {
  return (said: string): string | undefined => {
    const value = numberIn(said);
    return value >= 0 && value <= most ? undefined : `must be a part from 0 to ${most}`;
  };
}

function numberIn(said: string): number {
  return /^\d+(?:\.\d+)?$/.test(said) ? Number(said) : Number.NaN;
}

/** Table with one row per part, each with the reason for its number. */
function capacityText(load: Load, capacity: Capacity): string {
  const { edges, limiters, engines, cassandra, nats, shards } = capacity;
  const { keyedShare, headroom } = load;
  const keyed = (extra: number) => (keyedShare > 0 ? ` and ${figure(extra)} more with a key` : '');
  const { edge, limiter } = UNIT_COSTS;
  const rows = [
    [
      'edges',
      edges.count,
      '1 core',
      `${figure(edges.busy)} cores busy: ${figure(edge.observation)} µs a call${keyed(edge.keyed)}`,
    ],
    [
      'limiters',
      limiters.count,
      '1 core',
      `${figure(limiters.busy)} cores busy: ${figure(limiter.observation)} µs a call${keyed(limiter.keyed)}`,
    ],
    ['engines', engines.count, `1 core, ${bytes(engines.bytesEach)}`, engineText(engines)],
    [
      'Cassandra',
      cassandra.count,
      `${ASSUMED.cassandraCores} cores`,
      `${figure(cassandra.busy)} cores busy with ${ASSUMED.copies} copies of ${figure(cassandra.appendsPerSecond)} appends a second and what they hold`,
    ],
    [
      'disk',
      cassandra.count,
      `${bytes(cassandra.diskPerDayEach)} a day`,
      `after ${bytes(cassandra.diskAtOnceEach)} for instances and keyed answers; as much again free for compaction`,
    ],
    [
      'NATS',
      nats.count,
      'small',
      `${bytes(nats.bytesPerSecond)} of heartbeats a second, delivered`,
    ],
    ['shards', shards, '-', '10 to 40 for each engine (SERVICE_SHARDS, fixed when made)'],
  ] as const;
  return [
    `${figure(load.observations)} observations a second over ${figure(load.instances)} instances, ` +
      `${percent(keyedShare)} with a key; ${percent(headroom)} of everything free, and enough when one of a kind is away.`,
    '',
    table(['PART', 'NUMBER', 'EACH', 'BECAUSE'], rows),
    '',
    `Measured: ${SOURCES.join(', ')}. How it is computed, and how well it fits: docs/scale.md.`,
  ].join('\n');
}

function engineText({ busy, active, groupRecords, perCheckpoint, areCold }: Capacity['engines']) {
  const memory = areCold
    ? `${figure(active)} instances in memory, each observation brings back another`
    : `${figure(active)} instances in memory`;
  const groups = `an append covers ${figure(groupRecords)} observations, a checkpoint ${figure(perCheckpoint)}`;
  return `${figure(busy)} cores busy; ${memory}; ${groups}`;
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
