import type { ClusterOverview } from '#limiter/admin/routes';

/** Cluster overview for admin tests that do not request the overview. Contains no page files. */
export const NO_OVERVIEW: ClusterOverview = {
  report: () => Promise.reject(new Error('no report was expected')),
  file: () => undefined,
};
