import { DURABLE_INSTANCES, INSTANCES, MANY_INSTANCES } from '#bench/load/observation-plan';
import type { Options, Part } from '#bench/options';
import type { Label } from '#bench/processes/servers';
import type { PostgresLabel } from '#bench/references/start-postgres';

/** A durable service in a comparison, with labels for calls with and without idempotency keys. */
export type DurableEntrant = {
  readonly label: Label & Part;
  /** Label for calls with a new idempotency key each, on the same processes and instances. */
  readonly keyedLabel?: Label & Part;
  readonly store: OnCassandra | 'sqlite';
};

/** Parameters of a cluster on the shared Cassandra. */
export type OnCassandra = {
  /** Number of engines; the command line's value by default. */
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

const COMPARISONS: readonly DurableComparison[] = [
  {
    instanceCount: DURABLE_INSTANCES,
    services: [
      { label: 'd', keyedLabel: 'k', store: { keyspace: 'identity_engine' } },
      { label: 'd3', store: { engines: ENGINES_OF_D3, keyspace: 'three_engines' } },
    ],
    references: ['pg', 'cas'],
    isWithStateless: true,
  },
  // On SQLite the service is so fast that a load on 1,000 instances would observe an instance twice
  // within a second, and the second observation would be throttled.
  {
    instanceCount: INSTANCES,
    services: [{ label: 'e', keyedLabel: 'ke', store: 'sqlite' }],
    references: ['pg', 'cas'],
    isWithStateless: true,
  },
  {
    instanceCount: MANY_INSTANCES,
    services: [{ label: 'd50', keyedLabel: 'k50', store: { keyspace: 'identity_engine' } }],
    references: ['pg50', 'cas50'],
    isWithStateless: false,
  },
];

/**
 * Comparisons with the selected servers. Leaves out a comparison without a selected service, unless
 * a selected reference would otherwise not be measured.
 */
export function comparisonsOf({ parts }: Pick<Options, 'parts'>): DurableComparison[] {
  const wanted = COMPARISONS.map((comparison) => ({
    ...comparison,
    services: comparison.services.filter((entrant) => isWanted(entrant, parts)),
    references: comparison.references.filter((label) => parts.has(label)),
    isWithStateless: comparison.isWithStateless && parts.has('c'),
  }));
  const measured = wanted.filter(({ services }) => services.length > 0);
  for (const comparison of wanted) {
    const isMissing = (label: PostgresLabel) =>
      measured.every(({ references }) => !references.includes(label));
    if (comparison.references.some(isMissing)) measured.push(comparison);
  }
  return measured;
}

/** Whether a comparison needs Cassandra. */
export function isOnCassandra({ services }: Pick<DurableComparison, 'services'>): boolean {
  return services.some(({ store }) => store !== 'sqlite');
}

function isWanted(
  { label, keyedLabel }: DurableEntrant,
  parts: Pick<Options, 'parts'>['parts'],
): boolean {
  return parts.has(label) || (keyedLabel !== undefined && parts.has(keyedLabel));
}
