import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { FeedStore } from '#storage/ports/feeds';
import type { InstanceHead, InstanceStore } from '#storage/ports/instances';
import type { JournalStore } from '#storage/ports/journal';
import type { ListingStore } from '#storage/ports/listings';
import { checkFeeds } from '#test/chaos/checks/feeds';
import { Findings } from '#test/chaos/checks/findings';
import { checkInstance } from '#test/chaos/checks/instance';
import { checkJournals } from '#test/chaos/checks/journals';
import { readInstance, type StoredInstance } from '#test/chaos/checks/stored-instance';
import { type Call, callsByMark } from '#test/chaos/load/call-log';
import { InstanceCalls } from '#test/chaos/load/instance-calls';

/** Stores to check. No process may write to the stores during the check. */
export type CheckedStores = {
  readonly instances: InstanceStore;
  readonly listings: ListingStore;
  /** Undefined for stores without feeds, such as those of an earlier release. */
  readonly feeds?: FeedStore;
  /** Undefined for stores without journals. */
  readonly journals?: JournalStore;
};

/** Result of `checkStores`. */
export type CheckResult = {
  readonly findings: Findings;
  readonly instances: number;
  readonly deleted: number;
  readonly observations: number;
  /** Committed observations by account, including deleted instances. */
  readonly committed: ReadonlyMap<string, number>;
  readonly calls: Record<Call['outcome']['kind'], number>;
};

/** Maximum concurrent reads. More reads can overload a Cassandra node that has just restarted. */
const READS_IN_FLIGHT = 8;

/**
 * Checks that the stores of a stopped or idle cluster match the answers to callers. Every
 * acknowledged change is stored once with the answered state, refused changes are not stored, and
 * changes with unknown outcome are stored at most once. The order respects real time.
 */
export async function checkStores(
  { calls }: { readonly calls: readonly Call[] },
  accounts: readonly string[],
  stores: CheckedStores,
): Promise<CheckResult> {
  const findings = new Findings();
  const listed = await loadListings(accounts, stores.listings);
  const ofInstance = callsByInstance(calls, listed, findings);
  const byMark = callsByMark(calls);
  const versions = new Map<string, number>();
  const heads = new Map<string, InstanceHead>();
  const committed = new Map<string, number>();
  let deleted = 0;
  let observations = 0;
  await forEachConcurrently([...ofInstance], READS_IN_FLIGHT, async ([id, own]) => {
    const instance = new InstanceCalls(id, own);
    const stored = await readInstance(stores.instances, id, rowsOf(own));
    await checkInstance(stored, instance, byMark, stores.instances, findings);
    checkLine(stored, listed.get(id), own, findings);
    if (stored.head?.deletedAtMs !== undefined) deleted += 1;
    versions.set(id, stored.head?.version ?? 0);
    if (stored.head !== undefined) heads.set(id, stored.head);
    observations += stored.history.length;
    const accountId = own[0]?.accountId ?? '';
    // A deleted instance has no rows; its tombstone has the row count.
    const cycles = stored.head?.historyCount ?? 0;
    committed.set(accountId, (committed.get(accountId) ?? 0) + cycles);
  });
  if (stores.journals !== undefined) await checkJournals(stores.journals, versions, findings);
  if (stores.feeds !== undefined) await checkFeeds(accounts, heads, stores.feeds, findings);
  const counts = { instances: ofInstance.size, deleted, observations, committed };
  return { findings, ...counts, calls: countOf(calls) };
}

type Line = { readonly name: string; readonly accountId: string };

async function loadListings(
  accounts: readonly string[],
  listings: ListingStore,
): Promise<Map<string, Line>> {
  const listed = new Map<string, Line>();
  for (const accountId of accounts) {
    for (const { instanceId, name } of await listings.load(accountId)) {
      listed.set(instanceId, { name, accountId });
    }
  }
  return listed;
}

/**
 * Groups calls by instance. A listed instance whose id is in no answer must come from a create with
 * unknown outcome and the same name. Each create may explain one such instance.
 */
function callsByInstance(
  calls: readonly Call[],
  listed: ReadonlyMap<string, Line>,
  findings: Findings,
): Map<string, Call[]> {
  const ofInstance = Map.groupBy(
    calls.filter(({ instance }) => instance !== ''),
    ({ instance }) => instance,
  );
  const unnamed = new Map<string, Call>();
  for (const call of calls) {
    if (call.requested.kind !== 'create' || call.instance !== '') continue;
    unnamed.set(call.requested.name, call);
    if (call.outcome.kind === 'acknowledged')
      findings.add(`call ${call.id} was acknowledged, but its answer named no instance`);
  }
  for (const [id, { name }] of listed) {
    if (ofInstance.has(id)) continue;
    const create = unnamed.get(name);
    unnamed.delete(name);
    const isPossible = create !== undefined && create.outcome.kind !== 'refused';
    if (isPossible) ofInstance.set(id, [{ ...create, instance: id }]);
    else findings.add(`${id}: no call can have created "${name}", or one create was applied twice`);
  }
  return ofInstance;
}

function rowsOf(calls: readonly Call[]): number {
  return calls.reduce(
    (sum, { requested }) =>
      sum + (requested.kind === 'process' ? requested.observations.length : 0),
    0,
  );
}

/** The listing must contain exactly the existing instances of the account, with their names. */
function checkLine(
  { id, head }: StoredInstance,
  line: Line | undefined,
  calls: readonly Call[],
  findings: Findings,
): void {
  const isLive = head !== undefined && head.deletedAtMs === undefined;
  if (line === undefined) {
    if (isLive) findings.add(`${id}: the instance exists, but is not listed`);
    return;
  }
  if (!isLive) findings.add(`${id}: the instance is listed, but does not exist`);
  else if (line.name !== head.name) {
    findings.add(`${id}: the name is "${head.name}", but the listing has "${line.name}"`);
  }
  if (calls.some(({ accountId }) => accountId !== line.accountId)) {
    findings.add(`${id}: the listing of another account contains the instance`);
  }
}

function countOf(calls: readonly Call[]): CheckResult['calls'] {
  const counts = { acknowledged: 0, throttled: 0, superseded: 0, refused: 0, unknown: 0 };
  for (const { outcome } of calls) counts[outcome.kind] += 1;
  return counts;
}
