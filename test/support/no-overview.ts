import type { ClusterOverview } from '#limiter/admin/routes';

/** Empty cluster overview for admin tests. */
export const NO_OVERVIEW: ClusterOverview = {
  report: () => Promise.reject(new Error('no report was expected')),
  file: () => undefined,
};
