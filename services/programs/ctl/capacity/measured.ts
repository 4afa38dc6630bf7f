/** A measured figure, with its source in a report of this repository. */
export type Measured = {
  readonly value: number;
  readonly source: string;
  /** Heading above the figure. */
  readonly chapter: string;
  /** Start of the table row. */
  readonly row?: string;
  /** Exact text around the figure. */
  readonly text: string;
};

const BUSY_64 = {
  source: 'bench/DURABLE.md',
  chapter: 'Durable, 1,000 instances, 64 connections',
  row: '(d)',
} as const;
const BUSY_256 = { ...BUSY_64, chapter: 'Durable, 1,000 instances, 256 connections' } as const;
const SPREAD_256 = {
  source: 'bench/DURABLE.md',
  chapter: 'Durable, 50,000 instances, 256 connections',
  row: '(d50)',
} as const;
const KEYED_256 = { ...SPREAD_256, row: '(k50)' } as const;
const BYTES_1000 = {
  source: 'bench/DURABLE.md',
  chapter: 'Bytes on disk per observation',
  row: '(d) and (k)',
} as const;
const BYTES_50000 = {
  source: 'bench/DURABLE.md',
  chapter: 'Bytes on disk per observation',
  row: '(d50) and (k50)',
} as const;
const GROWTH = {
  source: 'bench/SCALE.md',
  chapter: 'Cost of an observation: 1 to 3 engines, 100 to 1,000,000 instances',
} as const;
const HUNDRED = { ...GROWTH, row: '1 × 100' } as const;
const MILLION = { ...GROWTH, row: '1 × 1,000,000' } as const;
const MILLION_COLD = { ...GROWTH, row: '1 × 1,000,000, not in memory' } as const;
const MEMORY = { source: 'bench/RESULTS.md', chapter: 'Memory' } as const;

/**
 * Measured figures that `ctl capacity` calculates with. CPU in µs per observation, sizes in bytes.
 * A test compares each figure with its report, so that reports and figures change together.
 */
export const MEASURED = {
  edgeUs: { ...SPREAD_256, value: 71.8, text: 'edge 71.8' },
  edgeKeyedUs: { ...KEYED_256, value: 103.1, text: 'edge 103.1' },
  limiterUs: { ...BUSY_64, value: 15.4, text: 'limiter 15.4' },
  limiterPlainUs: { ...SPREAD_256, value: 8.6, text: 'limiter 8.6' },
  limiterKeyedUs: { ...KEYED_256, value: 11.3, text: 'limiter 11.3' },
  engineUs64: { ...BUSY_64, value: 42.3, text: 'engine 42.3' },
  engineUs256: { ...BUSY_256, value: 29.1, text: 'engine 29.1' },
  enginePlainUs: { ...SPREAD_256, value: 58.3, text: 'engine 58.3' },
  engineKeyedUs: { ...KEYED_256, value: 105.7, text: 'engine 105.7' },
  engineFewUs: { ...HUNDRED, value: 46, text: '| 46 |' },
  engineManyUs: { ...MILLION, value: 101, text: '| 101 |' },
  engineColdUs: { ...MILLION_COLD, value: 216, text: '| 216 |' },
  cassandraUs64: { ...BUSY_64, value: 34.6, text: 'cassandra 34.6' },
  cassandraUs256: { ...BUSY_256, value: 18.7, text: 'cassandra 18.7' },
  cassandraPlainUs: { ...SPREAD_256, value: 20.1, text: 'cassandra 20.1' },
  cassandraKeyedUs: { ...KEYED_256, value: 85.1, text: 'cassandra 85.1' },
  cassandraFewUs: { ...HUNDRED, value: 30, text: '| 30 |' },
  cassandraManyUs: { ...MILLION, value: 55, text: '| 55 |' },
  cassandraColdUs: { ...MILLION_COLD, value: 297, text: '| 297 |' },
  /** Observations per second and records per group, for one engine at its maximum append rate. */
  observationsPerSecond: { ...HUNDRED, value: 7_423, text: '| 7423 |' },
  groupRecords64: { ...HUNDRED, value: 29.8, text: '| 29.8 |' },
  /** Resident engine memory in MiB after some calls. */
  engineMiB: { ...MEMORY, value: 176, text: '| 176 | 141 |' },
  /** Resident memory in MiB with 100,000 more instances, each observed once. */
  engineFullMiB: { ...MEMORY, row: 'each processed once', value: 647, text: '647' },
  liveBytesPerInstance: { ...MEMORY, value: 1_818, text: 'takes 1,818 live bytes' },
  rowBytes: { ...BYTES_1000, value: 18.3, text: '| 18.3 |' },
  headBytesPerObservation: { ...BYTES_50000, value: 10.2, text: '| 10.2 |' },
  headObservations: { ...BYTES_50000, value: 6_003_535, text: '| 6,003,535 |' },
  answerBytes: { ...BYTES_50000, value: 537.5, text: '537.5' },
} as const satisfies Record<string, Measured>;
