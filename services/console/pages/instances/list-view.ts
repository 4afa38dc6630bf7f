/** How the list of instances can be ordered, as its choice shows it. */
export const ORDERS = [
  ['created_at desc', 'Newest first'],
  ['created_at asc', 'Oldest first'],
  ['name asc', 'Name, A to Z'],
  ['name desc', 'Name, Z to A'],
] as const;

/** One of them. */
type Order = (typeof ORDERS)[number][0];

/** How many rows a page of the list may have. */
export const PAGE_SIZES = [20, 50, 100] as const;

/** What the list shows; it stands in the address. */
export type ListView = {
  readonly search: string;
  readonly order: Order;
  readonly limit: number;
  readonly offset: number;
};

/** Characters of a search; the console refuses longer ones. */
export const SEARCH_MAX = 64;

const [[FIRST_ORDER]] = ORDERS;
const [FIRST_SIZE] = PAGE_SIZES;

/** What an address asks for. What it says that cannot be is as if it said nothing. */
export function viewOf(query: string): ListView {
  const params = new URLSearchParams(query);
  const search = (params.get('search') ?? '').trim().slice(0, SEARCH_MAX);
  const order = `${params.get('sort') ?? 'created_at'} ${params.get('order') ?? 'desc'}`;
  const limit = Number(params.get('limit'));
  const offset = Number(params.get('offset'));
  return {
    search,
    order: ORDERS.find(([each]) => each === order)?.[0] ?? FIRST_ORDER,
    limit: PAGE_SIZES.find((each) => each === limit) ?? FIRST_SIZE,
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  };
}

/** The address of a view, which leaves out what goes without saying. */
export function listAddress(view: ListView): string {
  const params = queryOf(view);
  if (view.order === FIRST_ORDER) for (const name of ['sort', 'order']) params.delete(name);
  if (view.limit === FIRST_SIZE) params.delete('limit');
  if (view.offset === 0) params.delete('offset');
  return params.size === 0 ? '/instances' : `/instances?${params}`;
}

/** The query by which the console is asked for a view. */
export function queryOf({ search, order, limit, offset }: ListView): URLSearchParams {
  const [sort = '', direction = ''] = order.split(' ');
  return new URLSearchParams({
    ...(search === '' ? {} : { search }),
    ...{ sort, order: direction, limit: String(limit), offset: String(offset) },
  });
}
