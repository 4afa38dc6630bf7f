import type { Call, History } from '#test/simulation/checks/history';
import type { ActorTables } from '#test/simulation/simulated/actor-tables';
import { isAcknowledged, Violation } from '#test/simulation/stored/version-index';

/** Page size of a listing, larger than any account needs. */
export const LISTED_MAX = 100;

type Instance = { created: Call | undefined; removes: Call[] };

/**
 * Checks answered and stored listings. After the answer to its create, an instance must be listed
 * until its delete starts. After the answer to its delete, it must not be listed. `total` must
 * equal the listed instances. Throws a `Violation`.
 */
export function checkListings({ calls }: Pick<History, 'calls'>, tables: ActorTables): void {
  const accounts = new Map<string, Map<string, Instance>>();
  for (const call of calls) {
    const { account, instance, requested } = call;
    const instances = accounts.get(account) ?? new Map<string, Instance>();
    accounts.set(account, instances);
    if (instance === '') continue;
    const known = instances.get(instance) ?? { created: undefined, removes: [] };
    instances.set(instance, known);
    if (requested.kind === 'create' && isAcknowledged(call)) known.created = call;
    if (requested.kind === 'remove') known.removes.push(call);
  }
  for (const call of calls) {
    if (call.requested.kind !== 'list') continue;
    checkListing(call, accounts.get(call.account) ?? new Map());
  }
  for (const account of accounts.keys()) checkLines(account, tables);
}

function checkListing(list: Call, instances: ReadonlyMap<string, Instance>): void {
  if (list.outcome.kind !== 'answered') return;
  const { listed = new Map<string, string>(), total } = list.outcome.seen;
  if (total !== undefined && total <= LISTED_MAX && total !== listed.size) {
    throw new Violation(
      `the listing of call ${list.id} has ${listed.size} instances, but its total is ${total}`,
    );
  }
  for (const [instance, { created, removes }] of instances) {
    const isThere = created !== undefined && created.endedMs < list.invokedMs;
    const isLeaving = removes.some(({ invokedMs }) => invokedMs < list.endedMs);
    if (isThere && !isLeaving && !listed.has(instance)) {
      throw new Violation(
        `the listing of call ${list.id} lacks ${instance}, which call ${created.id} had created`,
      );
    }
    const removed = removes.find(
      (remove) => isAcknowledged(remove) && remove.endedMs < list.invokedMs,
    );
    if (removed !== undefined && listed.has(instance)) {
      throw new Violation(
        `the listing of call ${list.id} has ${instance}, which call ${removed.id} had deleted`,
      );
    }
  }
}

function checkLines(account: string, tables: ActorTables): void {
  const lines = new Map(tables.lines(account).map((line) => [line.instanceId, line]));
  for (const instance of tables.instances) {
    const head = tables.head(instance);
    if (head?.accountId !== account) continue;
    const line = lines.get(instance);
    lines.delete(instance);
    if (head.deletedAtMs === undefined && line === undefined) {
      throw new Violation(`${account}: ${instance} exists, but is not listed`);
    }
    if (head.deletedAtMs !== undefined && line !== undefined) {
      throw new Violation(`${account}: ${instance} is deleted, but still listed`);
    }
    if (line !== undefined && line.name !== head.name) {
      throw new Violation(
        `${account}: ${instance} has the name "${head.name}", but is listed as "${line.name}"`,
      );
    }
  }
  for (const instance of lines.keys()) {
    throw new Violation(`${account}: ${instance} is listed, but has no head in the account`);
  }
}
