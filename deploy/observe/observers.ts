import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterPlan } from '#deploy/local/cluster-plan';
import { installedAlertmanager } from '#deploy/local/install/alertmanager';
import { installedPrometheus } from '#deploy/local/install/prometheus';
import type { Print } from '#deploy/local/progress';
import { assertPortFree } from '#deploy/local/servers/free-port';
import { startServer } from '#deploy/local/servers/local-server';
import { runningServer, stopRecordedServer } from '#deploy/local/servers/server-record';
import {
  ALERTMANAGER_SETTINGS,
  type ObservePlan,
  observePlan,
  prometheusSettings,
} from '#deploy/observe/observe-plan';

/** Maximum start time, in ms. A start takes a second on an idle machine. */
const READY_MS_MAX = 60_000;

/** Retention of Prometheus: the longest window in the rules. */
const KEPT = '3d';

/**
 * Starts Prometheus and Alertmanager for the cluster unless they already run. Both outlive this
 * process and the cluster. Throws `MissingServer`, or a one-line error if a port is in use.
 */
export async function startObservers(cluster: ClusterPlan, print: Print): Promise<ObservePlan> {
  const plan = observePlan(cluster);
  await startPrometheus(cluster, plan, print);
  await startAlertmanager(plan, print);
  return plan;
}

/**
 * Stops Prometheus and Alertmanager cleanly, and keeps their data. Returns whether either was
 * running.
 */
export async function stopObservers(cluster: ClusterPlan): Promise<boolean> {
  const { prometheus, alertmanager } = observePlan(cluster);
  const folders = [prometheus.folder, alertmanager.folder];
  const isAny = folders.some((folder) => runningServer(folder) !== undefined);
  for (const folder of folders) await stopRecordedServer(folder);
  return isAny;
}

async function startAlertmanager(plan: ObservePlan, print: Print): Promise<void> {
  const { logFolder, alertmanager } = plan;
  const { folder, port, address } = alertmanager;
  if (runningServer(folder) !== undefined) return print(`Alertmanager already runs at ${address}`);
  await assertPortFree(port, 'Alertmanager');
  const program = await installedAlertmanager(print);
  const settings = join(folder, 'alertmanager.yml');
  await mkdir(folder, { recursive: true });
  await writeFile(settings, ALERTMANAGER_SETTINGS);
  await startServer(
    { folder, logFolder, lifetime: 'own' },
    {
      name: 'alertmanager',
      program,
      args: [
        `--config.file=${settings}`,
        `--storage.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        // Disables clustering: Alertmanager would listen for peers on every address of the machine.
        '--cluster.listen-address=',
      ],
      address,
      readyMsMax: READY_MS_MAX,
      ask: () => assertReady(address),
    },
  );
}

async function startPrometheus(
  cluster: ClusterPlan,
  plan: ObservePlan,
  print: Print,
): Promise<void> {
  const { folder, port, address } = plan.prometheus;
  const { logFolder } = plan;
  if (runningServer(folder) !== undefined) return print(`Prometheus already runs at ${address}`);
  await assertPortFree(port, 'Prometheus');
  const { prometheus, args } = await installedPrometheus(print);
  const settings = join(folder, 'prometheus.yml');
  await mkdir(folder, { recursive: true });
  await writeFile(settings, prometheusSettings(cluster, plan));
  await startServer(
    { folder, logFolder, lifetime: 'own' },
    {
      name: 'prometheus',
      program: prometheus,
      args: [
        ...args,
        `--config.file=${settings}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--storage.tsdb.retention.time=${KEPT}`,
        `--web.listen-address=127.0.0.1:${port}`,
        // Receives results of load tests.
        '--web.enable-remote-write-receiver',
        // Stores trace ids of slow calls.
        '--enable-feature=exemplar-storage',
      ],
      address,
      readyMsMax: READY_MS_MAX,
      ask: () => assertReady(address),
    },
  );
}

async function assertReady(address: string): Promise<void> {
  const { ok } = await fetch(`${address}/-/ready`, { signal: AbortSignal.timeout(1_000) });
  if (!ok) throw new Error('not ready');
}
