import type { ClusterPlan } from '#deploy/local/cluster-plan';
import type { Rehearsal } from '#test/observe/rehearsal';

/** What is rehearsed, and in a line each what is not, though it was wanted. */
export type Choice = { readonly chosen: readonly Rehearsal[]; readonly left: readonly string[] };

/**
 * The rehearsals that raise one of the alerts in `only`, names between commas (undefined: all of them), and
 * that this cluster can have. Throws for an alert that none of them raises.
 */
export function chosenRehearsals(
  rehearsals: readonly Rehearsal[],
  only: string | undefined,
  { processes }: Pick<ClusterPlan, 'processes'>,
): Choice {
  const names = only?.split(',');
  const raised = rehearsals.flatMap(({ alerts }) => alerts);
  const unknown = names?.find((name) => !raised.includes(name));
  if (unknown !== undefined) throw new Error(`--only: no rehearsal raises "${unknown}"`);
  const wanted = rehearsals.filter(
    ({ alerts }) => names === undefined || alerts.some((alert) => names.includes(alert)),
  );
  const nodes = processes.filter(({ kind }) => kind === 'cassandra').length;
  const canBe = ({ cassandraNodes = nodes }: Rehearsal) => cassandraNodes === nodes;
  const left = wanted
    .filter((rehearsal) => !canBe(rehearsal))
    .map(({ alerts, cassandraNodes }) => `${alerts} takes CASSANDRA=${cassandraNodes}`);
  return { chosen: wanted.filter(canBe), left };
}
