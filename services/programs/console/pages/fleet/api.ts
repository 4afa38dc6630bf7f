import type { AsOf, FleetCounts, ListedInstance, Pagination } from '#clients/typescript/src/models';
import { get, send } from '#pages/shell/api';

/** Page of instances: answer of `GET /api/instances`. */
export type InstanceList = {
  readonly data: readonly ListedInstance[];
  readonly pagination: Pagination;
  /** Only with a filter or the order by newest event. */
  readonly as_of?: AsOf;
};

/** Calls about all instances. Requests and answers are the same as under `/v1`. */
export const fleetApi = {
  list: (query: URLSearchParams) => send<InstanceList>('GET', `/instances?${query}`),
  counts: () => get<FleetCounts>('/fleet'),
};
