import { DRIFT_LEVELS } from '#identity/drift';
import { STRESS_STATES } from '#identity/state';
import { LEADING_MODES } from '#identity/transitions';

/** Sort orders, with display texts. */
export const ORDERS = [
  ['created_at desc', 'Newest first'],
  ['created_at asc', 'Oldest first'],
  ['changed_at desc', 'Newest change first'],
  ['changed_at asc', 'Oldest change first'],
  ['name asc', 'Name, A to Z'],
  ['name desc', 'Name, Z to A'],
] as const;

/** A sort order. */
type Order = (typeof ORDERS)[number][0];

/** Filters with a fixed set of values: name in the address, title, and values. */
export const FILTERS = [
  ['stress', 'Stress', STRESS_STATES],
  ['drift', 'Drift', DRIFT_LEVELS],
  ['dominant_mode', 'Leading mode', LEADING_MODES],
] as const;

/** Name of a filter with a fixed set of values. */
export type FilterName = (typeof FILTERS)[number][0];

/** A wanted tag: key and value. */
export type Tag = readonly [key: string, value: string];

/** Search, filters and order of the fleet, stored in the address of the page. */
export type FleetView = Readonly<Record<FilterName, readonly string[]>> & {
  readonly search: string;
  readonly tags: readonly Tag[];
  readonly order: Order;
};

/** Maximum search length, in characters. The console refuses longer searches. */
export const SEARCH_MAX = 64;

/** Maximum number of wanted tags. The console refuses more. */
export const TAGS_MAX = 4;

const [[FIRST_ORDER]] = ORDERS;

/** Address parameters of tags begin with this text. */
const TAG_PREFIX = 'tag.';

/** Parses an address. Invalid values are ignored. */
export function viewOf(query: string): FleetView {
  const params = new URLSearchParams(query);
  const wanted = (name: FilterName, values: readonly string[]) => {
    const named = (params.get(name) ?? '').split(',');
    return values.filter((value) => named.includes(value));
  };
  const order = `${params.get('sort') ?? 'created_at'} ${params.get('order') ?? 'desc'}`;
  return {
    search: (params.get('search') ?? '').trim().slice(0, SEARCH_MAX),
    stress: wanted('stress', STRESS_STATES),
    drift: wanted('drift', DRIFT_LEVELS),
    dominant_mode: wanted('dominant_mode', LEADING_MODES),
    tags: tagsIn(params),
    order: ORDERS.find(([each]) => each === order)?.[0] ?? FIRST_ORDER,
  };
}

function tagsIn(params: URLSearchParams): Tag[] {
  const tags = new Map<string, string>();
  for (const [name, value] of params) {
    if (name.startsWith(TAG_PREFIX) && name !== TAG_PREFIX) {
      tags.set(name.slice(TAG_PREFIX.length), value);
    }
  }
  return [...tags].slice(0, TAGS_MAX);
}

/** Query of the API request for a view, without the page. */
export function queryOf(view: FleetView): URLSearchParams {
  const [sort = '', direction = ''] = view.order.split(' ');
  const params = new URLSearchParams();
  if (view.search !== '') params.set('search', view.search);
  for (const [name] of FILTERS) if (view[name].length > 0) params.set(name, view[name].join(','));
  for (const [key, value] of view.tags) params.set(`${TAG_PREFIX}${key}`, value);
  params.set('sort', sort);
  params.set('order', direction);
  return params;
}

/** Address of a view, without default values. */
export function fleetAddress(view: FleetView): string {
  const params = queryOf(view);
  if (view.order === FIRST_ORDER) for (const name of ['sort', 'order']) params.delete(name);
  // Commas are allowed in a query, and an address is easier to read with them.
  const text = params.toString().replaceAll('%2C', ',');
  return text === '' ? '/fleet' : `/fleet?${text}`;
}

/** Whether the view selects instances. */
export function isFiltered({ search, tags, ...view }: FleetView): boolean {
  return search !== '' || tags.length > 0 || FILTERS.some(([name]) => view[name].length > 0);
}

/** The view with one value of a filter added, or removed if present. */
export function toggled(view: FleetView, name: FilterName, value: string): FleetView {
  const before = view[name];
  const next = before.includes(value)
    ? before.filter((each) => each !== value)
    : [...before, value];
  return { ...view, [name]: next };
}

/** The view with a tag added, or removed if present. An address has one value per key. */
export function tagToggled(view: FleetView, [key, value]: Tag): FleetView {
  const isWanted = view.tags.some((tag) => tag[0] === key && tag[1] === value);
  const others = view.tags.filter((tag) => tag[0] !== key);
  return { ...view, tags: isWanted ? others : [...others, [key, value] as const] };
}

/** Address of an instance's page. */
export const instanceAddress = (id: string): string => `/instances/${id}`;

let lastAddress = '/fleet';

/** Remembers the present view, for links back to the fleet. */
export function rememberView(view: FleetView): void {
  lastAddress = fleetAddress(view);
}

/** Address of the last view of the fleet in this tab. */
export const lastFleetAddress = (): string => lastAddress;
