import { MEASURED } from '#ctl/measured-costs';

/** Bytes of a MiB. */
export const MIB = 1_048_576;

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
