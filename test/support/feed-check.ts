import { modelOf } from '#engine/instance/state';
import { MODELS } from '#identity/model';
import { newReport } from '#identity/report';
import { flagsOf, TRANSITIONS } from '#identity/transitions';
import type { FeedRow } from '#storage/ports/feeds';
import type { InstanceHead } from '#storage/ports/instances';

const CREATED = TRANSITIONS.indexOf('created');
const RESET = TRANSITIONS.indexOf('reset');
const DELETED = TRANSITIONS.indexOf('deleted');

/**
 * Rows of a feed by instance, each version once. A take-over may repeat a row. Calls `onProblem` for
 * a version that follows a later version, and for two different rows of one version.
 */
export function rowsByInstance(
  rows: readonly FeedRow[],
  onProblem: (problem: string) => void,
): Map<string, FeedRow[]> {
  const byInstance = new Map<string, FeedRow[]>();
  for (const row of rows) {
    const [instance, version] = row;
    const known = byInstance.get(instance) ?? [];
    byInstance.set(instance, known);
    const same = known.find((one) => one[1] === version);
    if (same === undefined) {
      if ((known.at(-1)?.[1] ?? 0) < version) known.push(row);
      else onProblem(`${instance}: the feed has version ${version} after a later version`);
    } else if (JSON.stringify(same) !== JSON.stringify(row)) {
      onProblem(`${instance}: the feed has two rows for version ${version}`);
    }
  }
  return byInstance;
}

/**
 * First contradiction between the rows of an instance and its stored head; undefined if there is
 * none. The rows begin with the creation, have every reset and deletion, their flags form an
 * unbroken chain, and the chain ends at the head.
 */
export function contradiction(
  head: InstanceHead,
  rows: readonly FeedRow[],
  instance: string,
): string | undefined {
  const transitions = rows.flatMap(([, , , list]) => list);
  const count = (type: number) => transitions.filter(([one]) => one === type).length;
  const isRemoved = head.deletedAtMs !== undefined;
  if (transitions[0]?.[0] !== CREATED || count(CREATED) !== 1) {
    return 'the feed does not begin with its creation';
  }
  if (count(RESET) !== head.generation - 1) {
    return `the feed has ${count(RESET)} resets in generation ${head.generation}`;
  }
  if (count(DELETED) !== Number(isRemoved)) return `the feed has ${count(DELETED)} deletions`;
  if ((rows.at(-1)?.[1] ?? 0) > head.version) {
    return `the feed is ahead of version ${head.version}`;
  }
  return brokenChain(rows, isRemoved ? undefined : flagsIn(instance, head));
}

/** Each row begins with the flags with which the row before it ended. */
function brokenChain(rows: readonly FeedRow[], end: number | undefined): string | undefined {
  let flags: number | undefined;
  for (const [, version, , transitions] of rows) {
    const [, , , before] = transitions[0] ?? [];
    if (flags !== undefined && before !== flags) {
      return `a transition before version ${version} is lost`;
    }
    flags = transitions.at(-1)?.[2];
  }
  return end !== undefined && flags !== end ? 'the newest transition is lost' : undefined;
}

function flagsIn(instance: string, { modelVersion, model }: InstanceHead): number {
  const report = newReport();
  modelOf(MODELS, modelVersion, instance).readReport(model, report);
  return flagsOf(report);
}
