import { DURABLE_INSTANCES, INSTANCES, MANY_INSTANCES } from '#bench/load/observation-plan';
import type { Label } from '#bench/processes/servers';
import type { ReferenceLabel } from '#bench/references/start-reference';

/** A durable service in a comparison, with labels for calls with and without idempotency keys. */
export type DurableEntrant = {
  readonly label: Label;
  /** Label for calls with a new idempotency key each, on the same processes and instances. */
  readonly keyedLabel?: Label;
  readonly store: OnCassandra | 'sqlite';
};

/** Parameters of a cluster on the shared Cassandra. */
export type OnCassandra = {
  /** Number of engines; 1 by default. */
  readonly engines?: number;
  /** Keyspace of the service's tables. */
  readonly keyspace: string;
};

/** A reference in a comparison, with labels for calls with and without idempotency keys. */
type ReferenceEntrant = {
  readonly label: ReferenceLabel;
  /** Label for calls with a new idempotency key each, on the same processes and instances. */
  readonly keyedLabel?: Label;
};

/** Durable servers that take turns with the same number of instances. */
export type DurableComparison = {
  readonly instanceCount: number;
  readonly services: readonly DurableEntrant[];
  readonly references: readonly ReferenceEntrant[];
  /** Whether stateless reference (c) takes part if selected. */
  readonly isWithStateless: boolean;
  /** Whether the sizes of the tables are measured at the end. */
  readonly isDiskMeasured: boolean;
};

/** The service with one engine, in the comparisons on Cassandra. */
const ONE_ENGINE: DurableEntrant = {
  label: 'd',
  keyedLabel: 'k',
  store: { keyspace: 'identity_engine' },
};

/** Engine count of (d3). Source: the project's targets. */
const ENGINES_OF_D3 = 3;

/** Servers with 1,000 instances each, on Cassandra, PostgreSQL or Redis. */
export const CLUSTER: DurableComparison = {
  instanceCount: DURABLE_INSTANCES,
  services: [ONE_ENGINE],
  references: [
    { label: 'pg', keyedLabel: 'pgk' },
    { label: 'cas', keyedLabel: 'cask' },
    { label: 'redis', keyedLabel: 'redisk' },
  ],
  isWithStateless: false,
  isDiskMeasured: true,
};

/** Three engines beside one engine. */
export const ENGINES: DurableComparison = {
  instanceCount: DURABLE_INSTANCES,
  services: [
    { label: 'd', store: ONE_ENGINE.store },
    { label: 'd3', store: { engines: ENGINES_OF_D3, keyspace: 'three_engines' } },
  ],
  references: [],
  isWithStateless: false,
  isDiskMeasured: false,
};

/** Frameworks for actors and durable functions, beside the service. */
export const FRAMEWORKS: DurableComparison = {
  instanceCount: DURABLE_INSTANCES,
  services: [ONE_ENGINE],
  references: [
    { label: 'pekko', keyedLabel: 'pekkok' },
    { label: 'restate', keyedLabel: 'restatek' },
    { label: 'dapr', keyedLabel: 'daprk' },
  ],
  isWithStateless: false,
  isDiskMeasured: false,
};

/** Servers with 50,000 instances each, on Cassandra or PostgreSQL. */
export const MANY: DurableComparison = {
  instanceCount: MANY_INSTANCES,
  services: [{ ...ONE_ENGINE, label: 'd50', keyedLabel: 'k50' }],
  references: [{ label: 'pg50' }, { label: 'cas50' }],
  isWithStateless: false,
  isDiskMeasured: true,
};

/**
 * The service on SQLite, beside Fastify without state. On SQLite the service is so fast that a load
 * on 1,000 instances would observe an instance twice within a second, and the second observation
 * would be throttled.
 */
export const ON_FILE: DurableComparison = {
  instanceCount: INSTANCES,
  services: [{ label: 'e', keyedLabel: 'ke', store: 'sqlite' }],
  references: [],
  isWithStateless: true,
  isDiskMeasured: true,
};

/** Leaves out the servers without one of these names. Undefined: all servers. */
export function onlyThese(
  comparison: DurableComparison,
  wanted: ReadonlySet<string> | undefined,
): DurableComparison {
  if (wanted === undefined) return comparison;
  const isWanted = ({ label, keyedLabel }: Pick<DurableEntrant, 'label' | 'keyedLabel'>) =>
    wanted.has(label) || (keyedLabel !== undefined && wanted.has(keyedLabel));
  return {
    ...comparison,
    services: comparison.services.filter(isWanted),
    references: comparison.references.filter(isWanted),
    isWithStateless: comparison.isWithStateless && wanted.has('c'),
  };
}

/** Whether a comparison needs Cassandra. */
export function isOnCassandra({ services, references }: DurableComparison): boolean {
  const isReferenceOnCassandra = references.some(({ label }) => label === 'pekko');
  return isReferenceOnCassandra || services.some(({ store }) => store !== 'sqlite');
}
