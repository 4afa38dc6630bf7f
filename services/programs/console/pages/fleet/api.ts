import type { AsOf, FleetCounts, ListedInstance, Pagination } from '#clients/typescript/src/models';
import { get, type Refused, send } from '#pages/shell/api';

/** Page of instances: answer of `GET /api/instances`. */
export type InstanceList = {
  readonly data: readonly ListedInstance[];
  readonly pagination: Pagination;
  /** Only with a filter or the order by newest event. */
  readonly as_of?: AsOf;
};

/** Pause before another request while the service builds its index, in milliseconds. */
export const REBUILDING_MS = 2_000;

/** Whether the service refuses because it builds its index. */
export function isOfRebuilding(refusal: Refused | undefined): boolean {
  return refusal?.reason === 'index_rebuilding';
}

/** Calls about all instances. Requests and answers are the same as under `/v1`. */
export const fleetApi = {
  list: (query: URLSearchParams) => send<InstanceList>('GET', `/instances?${query}`),
  counts: () => get<FleetCounts>('/fleet'),
};
