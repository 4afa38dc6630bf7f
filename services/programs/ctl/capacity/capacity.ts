import {
  CHECKPOINT_AGE_MS,
  EARLY_ROWS_BYTES_MAX,
  TAIL_FILL_DUE,
  UNFLUSHED_BYTES_MAX,
  UNFLUSHED_RECORDS_MAX,
} from '#actor-runtime/actor-bounds';
import { type MeasuredFigures, measuredFigures } from '#ctl/capacity/measured';

/** A load to plan for. */
export type Load = {
  /** Observations per second, one per call, spread evenly over the instances. */
  readonly observations: number;
  readonly instances: number;
  /** Share of calls with an `Idempotency-Key`, 0 to 1. */
  readonly keyedShare: number;
  /** Share of every core and of memory that stays free, 0 to less than 1. */
  readonly headroom: number;
};

/** Processes or servers of a kind. `busy` is their total in cores. */
type Part = { readonly count: number; readonly busy: number };

/** Resources that a load needs, for a cluster with three copies. CPU in cores, sizes in bytes. */
export type Capacity = {
  readonly edges: Part;
  readonly limiters: Part;
  readonly engines: Part & {
    /** Instances in memory, summed over all engines. */
    readonly active: number;
    readonly bytesEach: number;
    /** Observations per journal append, and per instance checkpoint. */
    readonly groupRecords: number;
    readonly perCheckpoint: number;
    /** Whether instances are evicted before their next observation. */
    readonly areCold: boolean;
  };
  readonly cassandra: Part & {
    readonly appendsPerSecond: number;
    /** Disk per server, in bytes: daily growth, and constant size. */
    readonly diskPerDayEach: number;
    readonly diskAtOnceEach: number;
  };
  readonly nats: { readonly count: number; readonly bytesPerSecond: number };
  readonly shards: number;
};

/** Assumptions about the load, the configuration and the machines. */
export const ASSUMED = {
  /** Records per append at 256 connections. No part of the benchmark has this figure. */
  groupRecords256: 80,
  /** Cassandra's replication factor, and replicas per read. */
  copies: 3,
  copiesRead: 2,
  /** Cores per Cassandra server in the production manifests. */
  cassandraCores: 4,
  /** Cores that an edge, limiter or engine can use: each is single-threaded. */
  processCores: 1,
  /** Minimum processes per kind, so that a process may fail. */
  processes: 2,
  natsServers: 3,
  /** Maximum engines per edge. Source: `PEERS_MAX` in `routing/retry-policy`. */
  enginesMost: 256,
  /** Defaults of `SERVICE_ACTOR_IDLE_S` and `SERVICE_ACTOR_MEMORY_MIB`. */
  idleSeconds: 900,
  actorMiB: 1_024,
  /** Keyed answer retention, in seconds. Source: schema.cql. */
  answerSeconds: 90_000,
  /** Heartbeat size, in bytes. Every node sends a heartbeat per second to all processes. */
  heartbeatBytes: 1_000,
  /** Shards per engine (middle of 10 to 40), default number of shards, and maximum. */
  shardsPerEngine: 25,
  shardsUsual: 256,
  shardsMost: 4_096,
} as const;

const DAY_SECONDS = 86_400;

/** Computes the resources for a load. Undefined if a single cluster cannot serve the load. */
export function capacityFor(load: Load, costs = unitCosts()): Capacity | undefined {
  const { observations, keyedShare } = load;
  const edgeUs = costs.edge.observation + keyedShare * costs.edge.keyed;
  const limiterUs = costs.limiter.observation + keyedShare * costs.limiter.keyed;
  const engines = enginesFor(load, costs);
  if (engines === undefined) return undefined;
  const edges = processes((observations * edgeUs) / 1e6, load);
  const limiters = processes((observations * limiterUs) / 1e6, load);
  const nodes = engines.count + limiters.count;
  return {
    edges,
    limiters,
    engines,
    cassandra: cassandraFor(load, engines, costs),
    nats: {
      count: ASSUMED.natsServers,
      bytesPerSecond: nodes * (nodes + edges.count) * ASSUMED.heartbeatBytes,
    },
    shards: shardsFor(engines.count),
  };
}

/**
 * Smallest process count that keeps the headroom free and serves the load after the failure of
 * one process.
 */
function processes(busy: number, { headroom }: Load): Part {
  return { count: countFor(busy, ASSUMED.processCores, headroom), busy };
}

function countFor(busy: number, coresEach: number, headroom: number): number {
  const withRoom = Math.ceil(busy / (coresEach * (1 - headroom)));
  return Math.max(ASSUMED.processes, withRoom, Math.ceil(busy / coresEach) + 1);
}

/**
 * Smallest engine count that serves a load. The total cost rises with the engine count,
 * because more engines append smaller groups.
 */
function enginesFor(load: Load, costs: UnitCosts): Capacity['engines'] | undefined {
  for (let count = ASSUMED.processes; count <= ASSUMED.enginesMost; count += 1) {
    const all = engineWork(load, count, costs);
    const oneAway = engineWork(load, count - 1, costs);
    const areFree = all.busy <= count * ASSUMED.processCores * (1 - load.headroom);
    const isEnough = oneAway.busy <= (count - 1) * ASSUMED.processCores;
    const bytesMax = count * ASSUMED.actorMiB * MIB * (1 - load.headroom);
    const fits = all.active * costs.liveBytes <= bytesMax;
    if (areFree && isEnough && fits) return { ...all, count };
  }
  return undefined;
}

/** Work of `count` engines that share a load. */
export function engineWork(
  { observations, instances, keyedShare }: Load,
  count: number,
  { engine, appendsPerSecond, engineBytes, activeBytes }: UnitCosts,
) {
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

function cassandraFor(
  load: Load,
  engines: Capacity['engines'],
  { cassandra, observationBytes, headBytes, answerBytes }: UnitCosts,
): Capacity['cassandra'] {
  const { observations, instances, keyedShare, headroom } = load;
  const writeUs =
    cassandra.observation +
    cassandra.append / engines.groupRecords +
    cassandra.head / engines.perCheckpoint +
    keyedShare * cassandra.keyed;
  const readUs = engines.areCold ? cassandra.activation : 0;
  const busy = (observations * (ASSUMED.copies * writeUs + ASSUMED.copiesRead * readUs)) / 1e6;
  // Each of three zones has a replica, so all zones need equally many servers.
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

const MIB = 1_048_576;

/**
 * Derives the cost per append and per record from the record costs at two group sizes.
 * `groupRecords64`: records per append with small groups.
 */
function takenApart(us64: number, us256: number, groupRecords64: number) {
  const appendsApart = 1 / groupRecords64 - 1 / ASSUMED.groupRecords256;
  const append = (us64 - us256) / appendsApart;
  return { append, record: us256 - append / ASSUMED.groupRecords256 };
}

/**
 * Cost per unit of work, derived from measured figures. CPU in µs. Cassandra's figures are for one
 * replica.
 */
export function unitCostsOf(measured: MeasuredFigures) {
  const { groupRecords64 } = measured;
  const ofEngine = takenApart(measured.engineUs64, measured.engineUs256, groupRecords64);
  const ofCassandra = takenApart(measured.cassandraUs64, measured.cassandraUs256, groupRecords64);
  return {
    edge: {
      observation: measured.edgeUs,
      keyed: measured.edgeKeyedUs - measured.edgeUs,
    },
    limiter: {
      observation: measured.limiterUs,
      keyed: measured.limiterKeyedUs - measured.limiterPlainUs,
    },
    engine: {
      append: ofEngine.append,
      observation: ofEngine.record,
      /** A separately stored head, including the memory management for 100,000 heads. */
      head: measured.engineManyUs - measured.engineFewUs,
      activation: measured.engineColdUs - measured.engineManyUs,
      keyed: measured.engineKeyedUs - measured.enginePlainUs,
    },
    cassandra: {
      append: ofCassandra.append,
      observation: ofCassandra.record,
      head: measured.cassandraManyUs - measured.cassandraFewUs,
      activation: measured.cassandraColdUs - measured.cassandraManyUs,
      keyed: measured.cassandraKeyedUs - measured.cassandraPlainUs,
    },
    /**
     * Maximum appends per second and engine. An engine has at most two appends in flight, so
     * Cassandra's latency limits the rate.
     */
    appendsPerSecond: measured.observationsPerSecond / groupRecords64,
    engineBytes: measured.engineMiB * MIB,
    /** Resident memory per active instance, in bytes, including garbage. */
    activeBytes: ((measured.engineFullMiB - measured.engineMiB) * MIB) / 100_000,
    liveBytes: measured.liveBytesPerInstance,
    /** Disk size per replica, in bytes. */
    observationBytes: measured.rowBytes,
    headBytes: (measured.headBytesPerObservation * measured.headObservations) / 50_000,
    answerBytes: measured.answerBytes,
  };
}

type UnitCosts = ReturnType<typeof unitCostsOf>;

/** Costs from the newest results of the benchmark. */
export function unitCosts(): UnitCosts {
  return unitCostsOf(measuredFigures());
}
