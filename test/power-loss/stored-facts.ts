import { hash } from 'node:crypto';
import { driftPage, historyPage } from '#engine/instance/rows';
import { instanceFrom } from '#engine/instance/state';
import type { openStores } from '#startup/ports';
import type { Call } from '#test/chaos/load/call-log';

type Stores = Awaited<ReturnType<typeof openStores>>;

/** Rows per page: the maximum of the API. */
const PAGE_ROWS = 1_000;

/** Accounts and calls whose stored data is read. */
export type Known = { readonly accounts: readonly string[]; readonly calls: readonly Call[] };

/** Digests of read data, or `REFUSED`, by read name. */
export type Facts = ReadonlyMap<string, string>;

/** Result of a read that the store refused. */
export const REFUSED = 'refused';

/** Reads all stored data about the accounts and calls. */
export async function readFacts(stores: Stores, { accounts, calls }: Known): Promise<Facts> {
  const facts = new Map<string, string>();
  const note = async (name: string, read: () => Promise<unknown>): Promise<void> => {
    try {
      facts.set(name, digestOf(await read()));
    } catch {
      facts.set(name, REFUSED);
    }
  };
  for (const id of accounts) {
    await note(`account ${id}`, () => stores.accounts.find(id));
    await note(`listing ${id}`, async () => sorted(await stores.listings.load(id)));
    await note(`meter ${id}`, () => stores.meters.readHead(id));
    await note(`key uses ${id}`, async () => sorted(await stores.keyUses.find(id)));
  }
  const instances = new Set(calls.map(({ instance }) => instance).filter((id) => id !== ''));
  for (const id of instances) {
    await note(`head ${id}`, () => stores.instances.readHead(id));
    await note(`history ${id}`, () => rowsOf(stores, id, historyPage));
    await note(`drift ${id}`, () => rowsOf(stores, id, driftPage));
  }
  for (const { instance, key, requested } of calls) {
    if (key === undefined || instance === '') continue;
    const name = `${requested.kind === 'create' ? 'create' : 'call'}:${key}`;
    await note(`answer ${key}`, () => stores.instances.findAnswer(instance, name, 0));
  }
  return facts;
}

/** Names of reads that returned other data than before. */
export function changedFacts(found: Facts, stored: Facts): string[] {
  return [...stored]
    .filter(([name, value]) => found.get(name) !== value && found.get(name) !== REFUSED)
    .map(([name]) => name);
}

/** Reads all rows through the engine's paging. */
async function rowsOf(
  { instances }: Stores,
  id: string,
  pageOf: typeof historyPage | typeof driftPage,
): Promise<readonly unknown[] | undefined> {
  const head = await instances.readHead(id);
  if (head === undefined || head.deletedAtMs !== undefined) return undefined;
  const rows: unknown[] = [];
  for (;;) {
    const page = { limit: PAGE_ROWS, offset: rows.length, isEveryGeneration: true, isPaged: true };
    const { body } = await pageOf(id, instanceFrom(head), page, instances);
    const { data, pagination } = JSON.parse(body.toString());
    rows.push(...data);
    if (!pagination.has_more || data.length === 0) return rows;
  }
}

/** Sorts rows, because the store returns them in any order. */
function sorted(rows: readonly object[]): string[] {
  return rows.map((row) => JSON.stringify(row, plain)).sort();
}

function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value, plain) ?? 'nothing', 'base64url').slice(0, 22);
}

function plain(_: string, value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<unknown>, String);
  return value instanceof Map || value instanceof Set ? [...value] : value;
}
