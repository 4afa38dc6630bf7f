import { suite as plainSuite } from 'uvu';
import { MissingServer } from '#deploy/local/install/missing-server';
import { installedPrometheus, type Prometheus } from '#deploy/local/install/prometheus';
import { suiteUnless } from '#test/support/servers/real-servers';

/** Programs of Prometheus. If the programs are missing, `suite` skips its tests. */
export type PrometheusTools = {
  /** Empty paths if every suite skips its tests. */
  readonly programs: Prometheus;
  readonly suite: typeof plainSuite;
};

/**
 * Finds or fetches Prometheus and promtool. If they are not available, the returned `suite` skips
 * its tests.
 */
export async function prometheusOrSkip(): Promise<PrometheusTools> {
  try {
    return { programs: await installedPrometheus(console.log), suite: plainSuite };
  } catch (error) {
    if (!(error instanceof MissingServer)) throw error;
    const suite = suiteUnless(`there is no promtool: ${error.message}`);
    return { programs: { prometheus: '', promtool: '', args: [] }, suite };
  }
}
