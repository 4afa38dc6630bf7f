import type { ActorTables } from '#test/simulation/simulated/actor-tables';
import { type Feeds, rowsIn } from '#test/simulation/simulated/feed-stores';
import { Violation } from '#test/simulation/stored/version-index';
import { contradiction, rowsByInstance } from '#test/support/feed-check';

/* Separate from `stored.ts`, because feeds belong to accounts, not to instances. */

/**
 * Compares the stored feeds with the stored instances, after all checkpoints. Positions are dense,
 * and the rows of each instance fit its head. Throws a `Violation`.
 */
export function checkFeeds(feeds: Feeds, tables: ActorTables): void {
  const fail = (problem: string) => {
    throw new Violation(problem);
  };
  const rows = [...feeds].flatMap(([account, feed]) => {
    const own = rowsIn(feed);
    if (own.length === feed.head?.next) return own;
    return fail(`the feed of ${account} has ${own.length} of ${feed.head?.next} rows`);
  });
  const byInstance = rowsByInstance(rows, fail);
  for (const instance of tables.instances) {
    const head = tables.head(instance);
    if (head === undefined) continue;
    const problem = contradiction(head, byInstance.get(instance) ?? [], instance);
    if (problem !== undefined) fail(`${instance}: ${problem}`);
  }
}
