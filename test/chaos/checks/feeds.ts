import { feedChunkPages } from '#ctl/verify/feeds';
import type { FeedRow, FeedStore } from '#storage/ports/feeds';
import type { InstanceHead } from '#storage/ports/instances';
import type { Findings } from '#test/chaos/checks/findings';
import { contradiction, rowsByInstance } from '#test/support/feed-check';

/* Separate from `instance.ts`, because feeds belong to accounts, not to instances. */

/**
 * Checks that the stored feeds have every transition of the stored instances, in order and without a
 * hole. `heads` are all heads of the accounts by instance.
 */
export async function checkFeeds(
  accounts: readonly string[],
  heads: ReadonlyMap<string, InstanceHead>,
  feeds: FeedStore,
  findings: Findings,
): Promise<void> {
  const rows: FeedRow[] = [];
  for (const account of accounts) rows.push(...(await rowsOf(account, feeds, findings)));
  const byInstance = rowsByInstance(rows, (problem) => findings.add(problem));
  for (const [instance, head] of heads) {
    const problem = contradiction(head, byInstance.get(instance) ?? [], instance);
    if (problem !== undefined) findings.add(`${instance}: ${problem}`);
  }
}

/** Rows of the stored feed of an account that are not dropped. */
export async function rowsOf(
  account: string,
  feeds: FeedStore,
  findings: Findings,
): Promise<FeedRow[]> {
  const head = await feeds.readHead(account);
  if (head === undefined) return [];
  const rows: FeedRow[] = [];
  for await (const chunks of feedChunkPages(feeds, account, head)) {
    rows.push(...chunks.flatMap((chunk) => chunk.rows));
  }
  rows.push(...head.newest);
  if (rows.length !== head.next - head.floor) {
    findings.add(`the feed of ${account} has ${rows.length} of ${head.next - head.floor} rows`);
  }
  return rows;
}
