import { DURABLE_INSTANCES, INSTANCES, MANY_INSTANCES } from '#bench/observation-plan';
import type { Options, Part } from '#bench/options';
import type { PostgresLabel } from '#bench/postgres-reference';
import type { Label } from '#bench/servers';

/** A durable service of a comparison: how it is called, and how when its calls have keys. */
export type DurableEntrant = {
  readonly label: Label & Part;
  /** The same processes and instances, a fresh key on every call. */
  readonly keyedLabel?: Label & Part;
  readonly store: OnCassandra | 'sqlite';
};

/** A cluster on the Cassandra of its comparison. */
export type OnCassandra = {
  /** As many as the command line says unless given. */
  readonly engines?: number;
  /** Where its tables are. */
  readonly keyspace: string;
};

/** Durable servers that take turns, because they have the same number of instances. */
export type DurableComparison = {
  readonly instanceCount: number;
  readonly services: readonly DurableEntrant[];
  readonly references: readonly PostgresLabel[];
  /** Whether the stateless reference takes part, if it is wanted. */
  readonly isWithStateless: boolean;
};

/** Engines of (d3). Source: the project's target for them. */
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
  // On a file it is so fast that 1,000 would be observed too early now and then.
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
 * The comparisons that a run has, each with those who are wanted; (c) is measured with them. References
 * alone are measured once.
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

/** Whether a comparison needs a Cassandra. */
export function isOnCassandra({ services }: Pick<DurableComparison, 'services'>): boolean {
  return services.some(({ store }) => store !== 'sqlite');
}

function isWanted(
  { label, keyedLabel }: DurableEntrant,
  parts: Pick<Options, 'parts'>['parts'],
): boolean {
  return parts.has(label) || (keyedLabel !== undefined && parts.has(keyedLabel));
}
