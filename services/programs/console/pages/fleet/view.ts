/** List sort orders, with display texts. */
export const ORDERS = [
  ['created_at desc', 'Newest first'],
  ['created_at asc', 'Oldest first'],
  ['name asc', 'Name, A to Z'],
  ['name desc', 'Name, Z to A'],
] as const;

/** A sort order. */
type Order = (typeof ORDERS)[number][0];

/** Choices for the number of rows per page. */
export const PAGE_SIZES = [20, 50, 100] as const;

/** List search, order and page, stored in the address. */
export type ListView = {
  readonly search: string;
  readonly order: Order;
  readonly limit: number;
  readonly offset: number;
};

/** Maximum search length, in characters. The console refuses longer searches. */
export const SEARCH_MAX = 64;

const [[FIRST_ORDER]] = ORDERS;
const [FIRST_SIZE] = PAGE_SIZES;

/** Parses an address. Invalid values get their defaults. */
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

/** View address, without default values. */
export function listAddress(view: ListView): string {
  const params = queryOf(view);
  if (view.order === FIRST_ORDER) for (const name of ['sort', 'order']) params.delete(name);
  if (view.limit === FIRST_SIZE) params.delete('limit');
  if (view.offset === 0) params.delete('offset');
  return params.size === 0 ? '/instances' : `/instances?${params}`;
}

/** Query of the API request for a view. */
export function queryOf({ search, order, limit, offset }: ListView): URLSearchParams {
  const [sort = '', direction = ''] = order.split(' ');
  return new URLSearchParams({
    ...(search === '' ? {} : { search }),
    ...{ sort, order: direction, limit: String(limit), offset: String(offset) },
  });
}
