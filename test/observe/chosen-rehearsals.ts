import type { ClusterPlan } from '#deploy/local/cluster-plan';
import type { Rehearsal } from '#test/observe/rehearsal';

/** Rehearsals to run, and a line for each rehearsal that the cluster does not support. */
export type Choice = { readonly chosen: readonly Rehearsal[]; readonly left: readonly string[] };

/**
 * Selects the rehearsals for the alerts in `only`, separated by commas; undefined for all. Throws
 * if an alert has no rehearsal.
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
    .map(({ alerts, cassandraNodes }) => `${alerts} needs CASSANDRA=${cassandraNodes}`);
  return { chosen: wanted.filter(canBe), left };
}
