import type { Dashboard } from '#deploy/observe/dashboards/dashboard';
import { ENGINE } from '#deploy/observe/dashboards/engine';
import { LIMITER } from '#deploy/observe/dashboards/limiter';
import { LOAD_TEST } from '#deploy/observe/dashboards/load-test';
import { SERVICE } from '#deploy/observe/dashboards/service';
import { STORES } from '#deploy/observe/dashboards/stores';

/** All dashboards in reading order: callers first, then each service. */
export const DASHBOARDS: readonly Dashboard[] = [SERVICE, ENGINE, LIMITER, STORES, LOAD_TEST];
