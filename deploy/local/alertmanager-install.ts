import { goInstall } from '#deploy/local/go-install';
import { programPath } from '#deploy/local/program-path';
import type { Print } from '#deploy/local/progress';

/** Debian's package looks for its templates where only root can put them: it must be installed. */
const GO_PACKAGE = {
  name: 'alertmanager',
  path: 'github.com/prometheus/alertmanager/cmd/alertmanager',
  version: 'v0.28.1',
  binary: 'alertmanager',
} as const;

/**
 * The file of Alertmanager: on `PATH` under either of its names, or built by Go into the cache, which
 * takes some minutes. Throws `MissingServer`.
 */
export async function installedAlertmanager(print: Print): Promise<string> {
  const onPath = programPath('prometheus-alertmanager') ?? programPath('alertmanager');
  return onPath ?? (await goInstall(GO_PACKAGE, print));
}
