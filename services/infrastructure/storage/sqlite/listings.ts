import type { Clock } from '#stdlib/clock';
import {
  type CreationPage,
  type ListedPart,
  type ListingRow,
  listedOf,
  listingBudget,
  type PagedListings,
} from '#storage/ports/listings';
import type { Row, SqliteDatabase, SqlValue, Statement } from '#storage/sqlite/database';
import { CheckedTable, rowPages, textIn, wholeIn } from '#storage/sqlite/tables';

/** Maximum number of rows in a page (about 1 MiB). */
const PAGE_ROWS = 2_000;

const LISTINGS = new CheckedTable({
  name: 'listings',
  keys: ['account_id', 'instance_id'],
  others: ['version', 'name', 'description', 'created_at_ms', 'removed_at_ms'],
  part: 'account_id',
});

const PAGE = LISTINGS.select(
  `WHERE account_id = ? AND instance_id > ? ORDER BY instance_id LIMIT ${PAGE_ROWS}`,
);

/** Number of instances of an account, from the totals that triggers keep. */
const TOTAL = `SELECT
    coalesce((SELECT rows FROM sums WHERE name = 'listings' AND part = ?1), 0)
    - coalesce((SELECT rows FROM sums WHERE name = 'removed_listings' AND part = ?1), 0) AS total`;

/** Query for a page by creation with the total, in one snapshot. Without rows, one row of nulls. */
function creationPageQuery(than: '<' | '>', order: 'DESC' | 'ASC'): string {
  const page = LISTINGS.select(`WHERE account_id = ?1 AND removed_at_ms IS NULL
    AND (created_at_ms, instance_id) ${than} (?2, ?3)
    ORDER BY created_at_ms ${order}, instance_id ${order} LIMIT ?4 OFFSET ?5`);
  return `SELECT page.*, total FROM (${TOTAL}) LEFT JOIN (${page}) AS page
    ORDER BY created_at_ms ${order}, instance_id ${order}`;
}

const CREATION_PAGE = {
  asc: { sql: creationPageQuery('>', 'ASC'), start: -1 },
  desc: { sql: creationPageQuery('<', 'DESC'), start: Number.MAX_SAFE_INTEGER },
};

/**
 * Listings in an SQLite file. A removal leaves a tombstone row until `deleteExpired` deletes it.
 * The caller closes `database`.
 */
export function sqliteListingStore(
  database: SqliteDatabase,
  clock: Pick<Clock, 'wallMs'>,
): PagedListings {
  const write = async (statement: Statement): Promise<void> => {
    await database.write({ operation: 'listing_write', statements: [statement] });
  };
  const pages = (accountId: string) => pagesOf(database, accountId);

  return {
    put: (accountId, row) => write(put(accountId, row, null)),
    remove(accountId, instanceId, version) {
      const row = { instanceId, version, name: '', description: '', createdAtMs: 0 };
      return write(put(accountId, row, clock.wallMs()));
    },
    async listed(accountId, bytesMax) {
      const spend = listingBudget(bytesMax);
      const listed = [];
      for await (const page of pages(accountId)) {
        for (const row of page.map(listedOf)) {
          spend(row);
          listed.push(row);
        }
      }
      return listed;
    },
    async find(accountId, instanceId) {
      const row = await LISTINGS.find(database, 'listing_find', [accountId, instanceId]);
      return row && isListed(row) ? rowIn(row) : undefined;
    },
    byCreation: (accountId, page) => byCreation(database, accountId, page),
    pages,
    load: async (accountId) => (await Array.fromAsync(pages(accountId))).flat(),
  };
}

/** Listed rows of an account in pages, ordered by instance id. */
async function* pagesOf(
  database: SqliteDatabase,
  accountId: string,
): AsyncGenerator<readonly ListingRow[]> {
  // Runs in parallel with the pages. For a million instances, the check takes as long as the pages.
  const whole = LISTINGS.assertWhole(database, accountId);
  whole.catch(() => undefined);
  const paging = { operation: 'listing_read', sql: PAGE, pageRows: PAGE_ROWS };
  const valuesAfter = (after: SqlValue) => [accountId, after];
  for await (const rows of rowPages(database, { ...paging, valuesAfter, start: '', column: 1 })) {
    const listed = LISTINGS.rowsOf(rows).filter(isListed).map(rowIn);
    if (listed.length > 0) yield listed;
  }
  await whole;
}

async function byCreation(
  database: SqliteDatabase,
  accountId: string,
  { limit, offset, order, after }: CreationPage,
): Promise<ListedPart> {
  const { sql, start } = CREATION_PAGE[order];
  const { createdAtMs, instanceId } = after ?? { createdAtMs: start, instanceId: '' };
  const values = [accountId, createdAtMs, instanceId, limit, offset];
  const found = await database.read({ operation: 'listing_page', sql, values });
  const rows = found.filter(([account]) => account !== null).map((row) => row.slice(0, -1));
  const [first = []] = found;
  return {
    total: wholeIn(first, first.length - 1),
    rows: LISTINGS.rowsOf(rows).map((row) => listedOf(rowIn(row))),
  };
}

function put(accountId: string, row: ListingRow, removedAtMs: number | null): Statement {
  const { instanceId, version, name, description, createdAtMs } = row;
  const values = [accountId, instanceId, version, name, description, createdAtMs, removedAtMs];
  return LISTINGS.put(values, { unlessHigher: 'version' });
}

function isListed(row: Row): boolean {
  return row[6] === null;
}

function rowIn(row: Row): ListingRow {
  return {
    instanceId: textIn(row, 1),
    version: wholeIn(row, 2),
    name: textIn(row, 3),
    description: textIn(row, 4),
    createdAtMs: wholeIn(row, 5),
  };
}
