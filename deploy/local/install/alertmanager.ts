import { goInstall } from '#deploy/local/install/go-install';
import { programPath } from '#deploy/local/install/program-path';
import type { Print } from '#deploy/local/progress';

/** Built by Go: Debian's package finds its templates only if root has installed the package. */
const GO_PACKAGE = {
  name: 'alertmanager',
  path: 'github.com/prometheus/alertmanager/cmd/alertmanager',
  version: 'v0.28.1',
  binary: 'alertmanager',
} as const;

/**
 * Path of Alertmanager: from `PATH` under either name, or built by Go into the cache (minutes).
 * Throws `MissingServer`.
 */
export async function installedAlertmanager(print: Print): Promise<string> {
  const onPath = programPath('prometheus-alertmanager') ?? programPath('alertmanager');
  return onPath ?? (await goInstall(GO_PACKAGE, print));
}
