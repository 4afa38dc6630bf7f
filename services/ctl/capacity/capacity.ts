import { MEASURED } from '#ctl/capacity/measured';
import {
  CHECKPOINT_AGE_MS,
  EARLY_ROWS_BYTES_MAX,
  TAIL_FILL_DUE,
  UNFLUSHED_BYTES_MAX,
  UNFLUSHED_RECORDS_MAX,
} from '#runtime/bounds';

/** A load to plan for. */
export type Load = {
  /** A second, each in a call of its own, spread evenly over the instances. */
  readonly observations: number;
  readonly instances: number;
  /** Which part of the calls has an `Idempotency-Key`, 0 to 1. */
  readonly keyedShare: number;
  /** Which part of every core and of the memory is kept free, 0 to less than 1. */
  readonly headroom: number;
};

/** Processes or servers of a kind: `busy` of the cores that all of them have. */
type Part = { readonly count: number; readonly busy: number };

/** What a load needs. CPU in cores, sizes in bytes, of a cluster with three copies. */
export type Capacity = {
  readonly edges: Part;
  readonly limiters: Part;
  readonly engines: Part & {
    /** Instances in memory, of all engines. */
    readonly active: number;
    readonly bytesEach: number;
    /** Observations that share an append, and that share a checkpoint of their instance. */
    readonly groupRecords: number;
    readonly perCheckpoint: number;
    /** Whether an instance is out of memory again before its next observation. */
    readonly areCold: boolean;
  };
  readonly cassandra: Part & {
    readonly appendsPerSecond: number;
    /** Of each server: what comes in a day, and what is there at once. */
    readonly diskPerDayEach: number;
    readonly diskAtOnceEach: number;
  };
  readonly nats: { readonly count: number; readonly bytesPerSecond: number };
  readonly shards: number;
};

/** What is taken for given: how the service is set up, and what the machines are like. */
export const ASSUMED = {
  /** Copies that Cassandra keeps, of which a read asks two. */
  copies: 3,
  copiesRead: 2,
  /** Of a Cassandra server: what the manifests of production ask for. */
  cassandraCores: 4,
  /** That an edge, a limiter or an engine can use: each runs in one thread. */
  processCores: 1,
  /** Processes of a kind at least, so that one may fail. */
  processes: 2,
  natsServers: 3,
  /** Engines that an edge connects to. Source: `routing/policy` `PEERS_MAX`. */
  enginesMost: 256,
  /** Defaults of `SERVICE_ACTOR_IDLE_S` and `SERVICE_ACTOR_MEMORY_MIB`. */
  idleSeconds: 900,
  actorMiB: 1_024,
  /** How long a keyed answer is kept. Source: schema.cql. */
  answerSeconds: 90_000,
  /** What every node sends each second and all processes hear. */
  heartbeatBytes: 1_000,
  /** In the middle of 10 to 40; and how many there are unless set, and at most. */
  shardsPerEngine: 25,
  shardsUsual: 256,
  shardsMost: 4_096,
} as const;

const DAY_SECONDS = 86_400;

/** What a load needs; undefined where one cluster cannot serve it. Pure. */
export function capacityFor(load: Load): Capacity | undefined {
  const { observations, keyedShare } = load;
  const edgeUs = UNIT_COSTS.edge.observation + keyedShare * UNIT_COSTS.edge.keyed;
  const limiterUs = UNIT_COSTS.limiter.observation + keyedShare * UNIT_COSTS.limiter.keyed;
  const engines = enginesFor(load);
  if (engines === undefined) return undefined;
  const edges = processes((observations * edgeUs) / 1e6, load);
  const limiters = processes((observations * limiterUs) / 1e6, load);
  const nodes = engines.count + limiters.count;
  return {
    edges,
    limiters,
    engines,
    cassandra: cassandraFor(load, engines),
    nats: {
      count: ASSUMED.natsServers,
      bytesPerSecond: nodes * (nodes + edges.count) * ASSUMED.heartbeatBytes,
    },
    shards: shardsFor(engines.count),
  };
}

/** Enough that the share stays free, and that all is served at all when one is away. */
function processes(busy: number, { headroom }: Load): Part {
  return { count: countFor(busy, ASSUMED.processCores, headroom), busy };
}

function countFor(busy: number, coresEach: number, headroom: number): number {
  const withRoom = Math.ceil(busy / (coresEach * (1 - headroom)));
  return Math.max(ASSUMED.processes, withRoom, Math.ceil(busy / coresEach) + 1);
}

/** The fewest engines that serve a load, which costs more the more there are: groups get smaller. */
function enginesFor(load: Load): Capacity['engines'] | undefined {
  for (let count = ASSUMED.processes; count <= ASSUMED.enginesMost; count += 1) {
    const all = engineWork(load, count);
    const oneAway = engineWork(load, count - 1);
    const areFree = all.busy <= count * ASSUMED.processCores * (1 - load.headroom);
    const isEnough = oneAway.busy <= (count - 1) * ASSUMED.processCores;
    const bytesMax = count * ASSUMED.actorMiB * MIB * (1 - load.headroom);
    const fits = all.active * UNIT_COSTS.liveBytes <= bytesMax;
    if (areFree && isEnough && fits) return { ...all, count };
  }
  return undefined;
}

function engineWork({ observations, instances, keyedShare }: Load, count: number) {
  const { engine, appendsPerSecond, engineBytes, activeBytes } = UNIT_COSTS;
  const active = Math.min(instances, observations * ASSUMED.idleSeconds);
  const areCold = active < instances;
  const each = observations / count;
  const groupRecords = Math.max(1, each / appendsPerSecond);
  const recordsWaiting = Math.min(
    each * (CHECKPOINT_AGE_MS / 1_000),
    UNFLUSHED_RECORDS_MAX * TAIL_FILL_DUE,
  );
  const perCheckpoint = Math.max(1, recordsWaiting / (active / count));
  const us =
    engine.observation +
    engine.append / groupRecords +
    engine.head / perCheckpoint +
    (areCold ? engine.activation : 0) +
    keyedShare * engine.keyed;
  const answers = keyedShare > 0 ? EARLY_ROWS_BYTES_MAX : 0;
  const bytesEach = engineBytes + (active / count) * activeBytes + UNFLUSHED_BYTES_MAX + answers;
  const busy = (observations * us) / 1e6;
  return { busy, active, bytesEach, groupRecords, perCheckpoint, areCold };
}

function cassandraFor(load: Load, engines: Capacity['engines']): Capacity['cassandra'] {
  const { observations, instances, keyedShare, headroom } = load;
  const { cassandra, observationBytes, headBytes, answerBytes } = UNIT_COSTS;
  const writeUs =
    cassandra.observation +
    cassandra.append / engines.groupRecords +
    cassandra.head / engines.perCheckpoint +
    keyedShare * cassandra.keyed;
  const readUs = engines.areCold ? cassandra.activation : 0;
  const busy = (observations * (ASSUMED.copies * writeUs + ASSUMED.copiesRead * readUs)) / 1e6;
  // As many in each of three zones, which hold a copy each.
  const count =
    ASSUMED.copies * Math.ceil(countFor(busy, ASSUMED.cassandraCores, headroom) / ASSUMED.copies);
  const copies = ASSUMED.copies / count;
  const answers = observations * keyedShare * ASSUMED.answerSeconds * answerBytes;
  return {
    count,
    busy,
    appendsPerSecond: observations / engines.groupRecords,
    diskPerDayEach: observations * DAY_SECONDS * observationBytes * copies,
    diskAtOnceEach: (instances * headBytes + answers) * copies,
  };
}

function shardsFor(engines: number): number {
  const { shardsMost, shardsUsual, shardsPerEngine } = ASSUMED;
  return Math.min(shardsMost, Math.max(shardsUsual, shardsPerEngine * engines));
}

/** Bytes of a MiB. */
const MIB = 1_048_576;

/** The figure in a group of 1 record less that in a large one, by how many more appends it makes. */
const APPENDS_APART = 1 / MEASURED.groupRecords64.value - 1 / MEASURED.groupRecords256.value;

/** Two costs at different sizes of groups, taken apart into that of an append and of a record. */
function takenApart(us64: number, us256: number): { readonly append: number; record: number } {
  const append = (us64 - us256) / APPENDS_APART;
  return { append, record: us256 - append / MEASURED.groupRecords256.value };
}

const ENGINE = takenApart(MEASURED.engineUs64.value, MEASURED.engineUs256.value);
const CASSANDRA = takenApart(MEASURED.cassandraUs64.value, MEASURED.cassandraUs256.value);

/**
 * What one unit of each kind of work costs, computed from the measured figures. CPU in µs; that of
 * Cassandra is of one copy.
 */
export const UNIT_COSTS = {
  edge: {
    observation: MEASURED.edgeUs.value,
    keyed: MEASURED.edgeKeyedUs.value - MEASURED.edgeUs.value,
  },
  limiter: {
    observation: MEASURED.limiterUs.value,
    keyed: MEASURED.limiterKeyedUs.value - MEASURED.limiterPlainUs.value,
  },
  engine: {
    append: ENGINE.append,
    observation: ENGINE.record,
    /** A head that is written for it alone, with what 100,000 of them cost in memory management. */
    head: MEASURED.engineManyUs.value - MEASURED.engineFewUs.value,
    activation: MEASURED.engineColdUs.value - MEASURED.engineManyUs.value,
    keyed: MEASURED.engineKeyedUs.value - MEASURED.enginePlainUs.value,
  },
  cassandra: {
    append: CASSANDRA.append,
    observation: CASSANDRA.record,
    head: MEASURED.cassandraManyUs.value - MEASURED.cassandraFewUs.value,
    activation: MEASURED.cassandraColdUs.value - MEASURED.cassandraManyUs.value,
    keyed: MEASURED.cassandraKeyedUs.value - MEASURED.cassandraPlainUs.value,
  },
  /** Most appends of an engine in a second: two at a time, each as long as Cassandra takes. */
  appendsPerSecond: MEASURED.observationsPerSecond.value / MEASURED.groupRecords64.value,
  engineBytes: MEASURED.engineMiB.value * MIB,
  /** Of an active instance, resident, garbage included. */
  activeBytes: ((MEASURED.engineFullMiB.value - MEASURED.engineMiB.value) * MIB) / 100_000,
  liveBytes: MEASURED.liveBytesPerInstance.value,
  /** On disk, of one copy. */
  observationBytes: MEASURED.rowBytes.value,
  headBytes: (MEASURED.headBytesPerObservation.value * MEASURED.headObservations.value) / 50_000,
  answerBytes: MEASURED.answerBytes.value,
} as const;
