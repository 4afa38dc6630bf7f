import { suite as plainSuite } from 'uvu';
import { MissingServer } from '#deploy/local/install/missing-server';
import { installedPrometheus, type Prometheus } from '#deploy/local/install/prometheus';
import { suiteUnless } from '#test/support/servers/real-servers';

/** Prometheus programs, and a suite that skips without them. */
export type PrometheusTools = {
  /** Empty paths if every suite skips its tests. */
  readonly programs: Prometheus;
  readonly suite: typeof plainSuite;
};

/** Finds or fetches Prometheus and promtool; skips tests if not available. */
export async function prometheusOrSkip(): Promise<PrometheusTools> {
  try {
    return { programs: await installedPrometheus(console.log), suite: plainSuite };
  } catch (error) {
    if (!(error instanceof MissingServer)) throw error;
    const suite = suiteUnless(`there is no promtool: ${error.message}`);
    return { programs: { prometheus: '', promtool: '', args: [] }, suite };
  }
}
