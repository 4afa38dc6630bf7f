import { suite as plainSuite } from 'uvu';
import { MissingServer } from '#deploy/local/missing-server';
import { installedPrometheus, type Prometheus } from '#deploy/local/prometheus-install';
import { suiteUnless } from '#test/support/real-servers';

/** Prometheus's programs, and the suites that need them. */
export type PrometheusTools = {
  /** Empty names when every suite below skips its tests. */
  readonly programs: Prometheus;
  readonly suite: typeof plainSuite;
};

/** Prometheus and promtool, fetched if need be; where they cannot be had, tests count as skipped. */
export async function prometheusOrSkip(): Promise<PrometheusTools> {
  try {
    return { programs: await installedPrometheus(console.log), suite: plainSuite };
  } catch (error) {
    if (!(error instanceof MissingServer)) throw error;
    const suite = suiteUnless(`there is no promtool: ${error.message}`);
    return { programs: { prometheus: '', promtool: '', args: [] }, suite };
  }
}
