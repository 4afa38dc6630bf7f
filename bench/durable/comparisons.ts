import { DURABLE_INSTANCES, INSTANCES, MANY_INSTANCES } from '#bench/load/observation-plan';
import type { Label } from '#bench/processes/servers';
import type { PostgresLabel } from '#bench/references/start-postgres';

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

/** Durable servers that take turns with the same number of instances. */
export type DurableComparison = {
  readonly instanceCount: number;
  readonly services: readonly DurableEntrant[];
  readonly references: readonly PostgresLabel[];
  /** Whether stateless reference (c) takes part if selected. */
  readonly isWithStateless: boolean;
};

/** Engine count of (d3). Source: the project's targets. */
const ENGINES_OF_D3 = 3;

/** Servers with 1,000 instances each, on Cassandra or PostgreSQL. */
export const CLUSTER: DurableComparison = {
  instanceCount: DURABLE_INSTANCES,
  services: [
    { label: 'd', keyedLabel: 'k', store: { keyspace: 'identity_engine' } },
    { label: 'd3', store: { engines: ENGINES_OF_D3, keyspace: 'three_engines' } },
  ],
  references: ['pg', 'cas'],
  isWithStateless: false,
};

/** Servers with 50,000 instances each, on Cassandra or PostgreSQL. */
export const MANY: DurableComparison = {
  instanceCount: MANY_INSTANCES,
  services: [{ label: 'd50', keyedLabel: 'k50', store: { keyspace: 'identity_engine' } }],
  references: ['pg50', 'cas50'],
  isWithStateless: false,
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
};

/** Leaves out the servers without one of these names. Undefined: all servers. */
export function onlyThese(
  comparison: DurableComparison,
  wanted: ReadonlySet<string> | undefined,
): DurableComparison {
  if (wanted === undefined) return comparison;
  return {
    ...comparison,
    services: comparison.services.filter(
      ({ label, keyedLabel = '' }) => wanted.has(label) || wanted.has(keyedLabel),
    ),
    references: comparison.references.filter((label) => wanted.has(label)),
    isWithStateless: comparison.isWithStateless && wanted.has('c'),
  };
}

/** Whether a comparison needs Cassandra. */
export function isOnCassandra({ services }: Pick<DurableComparison, 'services'>): boolean {
  return services.some(({ store }) => store !== 'sqlite');
}
