import { modelOf } from '#engine/instance/state';
import { MODELS } from '#identity/model';
import { newReport } from '#identity/report';
import { flagsOf, TRANSITIONS } from '#identity/transitions';
import type { FeedRow } from '#storage/ports/feeds';
import type { InstanceHead } from '#storage/ports/instances';
import type { ActorTables } from '#test/simulation/simulated/actor-tables';
import { type Feeds, rowsIn } from '#test/simulation/simulated/feed-stores';
import { Violation } from '#test/simulation/stored/version-index';

const CREATED = TRANSITIONS.indexOf('created');
const RESET = TRANSITIONS.indexOf('reset');
const DELETED = TRANSITIONS.indexOf('deleted');

/**
 * Compares the stored feeds with the stored instances, after all checkpoints. Positions are dense.
 * Each instance begins with its creation, its versions ascend, its flags form an unbroken chain, and
 * the chain ends at the stored head. A repeated row is the same row. Throws a `Violation`.
 */
export function checkFeeds(feeds: Feeds, tables: ActorTables): void {
  const byInstance = new Map<string, FeedRow[]>();
  for (const [account, feed] of feeds) {
    const rows = rowsIn(feed);
    if (rows.length !== feed.head?.next) {
      throw new Violation(`the feed of ${account} has ${rows.length} of ${feed.head?.next} rows`);
    }
    for (const row of rows) {
      const known = byInstance.get(row[0]) ?? [];
      byInstance.set(row[0], known);
      if (!isRepeated(row, known)) known.push(row);
    }
  }
  for (const instance of tables.instances) {
    const head = tables.head(instance);
    if (head !== undefined) checkInstance(instance, head, byInstance.get(instance) ?? []);
  }
}

/** Whether the same row is known. Throws if another row of this version is known, or a later one. */
function isRepeated(row: FeedRow, known: readonly FeedRow[]): boolean {
  const [instance, version] = row;
  const same = known.find((one) => one[1] === version);
  if (same === undefined) {
    if ((known.at(-1)?.[1] ?? 0) < version) return false;
    throw new Violation(`${instance}: the feed has version ${version} after a later version`);
  }
  if (JSON.stringify(same) === JSON.stringify(row)) return true;
  throw new Violation(`${instance}: the feed has two rows for version ${version}`);
}

function checkInstance(instance: string, head: InstanceHead, rows: readonly FeedRow[]): void {
  const transitions = rows.flatMap(([, , , list]) => list);
  const count = (type: number) => transitions.filter(([one]) => one === type).length;
  const isRemoved = head.deletedAtMs !== undefined;
  if (transitions[0]?.[0] !== CREATED || count(CREATED) !== 1) {
    throw new Violation(`${instance}: the feed does not begin with its creation`);
  }
  if (count(RESET) !== head.generation - 1) {
    throw new Violation(`${instance}: ${count(RESET)} resets in generation ${head.generation}`);
  }
  if (count(DELETED) !== Number(isRemoved)) {
    throw new Violation(`${instance}: the feed has ${count(DELETED)} deletions`);
  }
  if ((rows.at(-1)?.[1] ?? 0) > head.version) {
    throw new Violation(`${instance}: the feed is ahead of version ${head.version}`);
  }
  checkChain(instance, rows, isRemoved ? undefined : flagsIn(instance, head));
}

/** Each row begins with the flags with which the row before it ended. */
function checkChain(instance: string, rows: readonly FeedRow[], end: number | undefined): void {
  let flags: number | undefined;
  for (const [, version, , transitions] of rows) {
    const [, , , before] = transitions[0] ?? [];
    if (flags !== undefined && before !== flags) {
      throw new Violation(`${instance}: a transition before version ${version} is lost`);
    }
    flags = transitions.at(-1)?.[2];
  }
  if (end !== undefined && flags !== end) {
    throw new Violation(`${instance}: the newest transition is lost`);
  }
}

function flagsIn(instance: string, { modelVersion, model }: InstanceHead): number {
  const report = newReport();
  modelOf(MODELS, modelVersion, instance).readReport(model, report);
  return flagsOf(report);
}
