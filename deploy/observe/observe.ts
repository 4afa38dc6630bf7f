import { clusterPlan } from '#deploy/local/cluster-plan';
import { readCluster, supervisorFolder } from '#deploy/local/cluster-record';
import { runningServer } from '#deploy/local/servers/server-record';
import { clusterFolder, wantedCluster } from '#deploy/local/state-folder';
import type { ObservePlan } from '#deploy/observe/observe-plan';
import { startObservers, stopObservers } from '#deploy/observe/observers';

/*
 * Starts and stops Prometheus and Alertmanager for the cluster on this machine, for `make`.
 *
 * Usage: node deploy/observe/observe.ts up | down
 */

const out = (text: string): void => void process.stdout.write(`${text}\n`);

try {
  await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`observe: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

async function run([command = '', ...rest]: readonly string[]): Promise<void> {
  const folder = clusterFolder();
  const cluster = clusterPlan(readCluster(folder)?.size ?? wantedCluster());
  if (command === 'up' && rest.length === 0) {
    if (runningServer(supervisorFolder(folder)) === undefined) {
      throw new Error('no cluster runs on this machine: run make cluster');
    }
    const plan = await startObservers(cluster, out);
    out(welcome(plan, await pagesOf(plan)));
  } else if (command === 'down' && rest.length === 0) {
    const isAny = await stopObservers(cluster);
    out(
      isAny
        ? 'Prometheus and Alertmanager have stopped; their data is kept'
        : 'Prometheus and Alertmanager were not running',
    );
  } else throw new Error('usage: observe.ts up | down');
}

/** Address of Prometheus's pages. Debian's build has only the classic pages. */
async function pagesOf({ prometheus: { address } }: ObservePlan): Promise<string> {
  const { ok } = await fetch(`${address}/alerts`);
  return ok ? address : `${address}/classic`;
}

/** Text for people after the start: addresses to open next. */
function welcome({ alertmanager }: ObservePlan, pages: string): string {
  return [
    'Prometheus scrapes the cluster every 5 s.',
    '',
    `  Rules       ${pages}/alerts`,
    `  Graphs      ${pages}/graph   (try slo:availability_errors:ratio_rate5m)`,
    `  Processes   ${pages}/targets`,
    `  Firing      ${alertmanager.address}   firing alerts, which are not sent`,
    '',
    'Meaning of each alert and what to do: docs/runbook.md. Pictures of the dashboards:',
    'docs/dashboards.md. To stop: make observe-down',
    '',
  ].join('\n');
}
