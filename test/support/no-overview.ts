import type { ClusterOverview } from '#limiter/admin/routes';

/** For tests of the admin port that look at no cluster. */
export const NO_OVERVIEW: ClusterOverview = {
  report: () => Promise.reject(new Error('no report was expected')),
  file: () => undefined,
};
