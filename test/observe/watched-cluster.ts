import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ClusterPlan, clusterPlan, processFolder } from '#deploy/local/cluster-plan';
import { readCluster, supervisorFolder } from '#deploy/local/cluster-record';
import { readSecrets } from '#deploy/local/cluster-secrets';
import { runningServer, signalProcess } from '#deploy/local/servers/server-record';
import { clusterFolder } from '#deploy/local/state-folder';
import { observePlan } from '#deploy/observe/observe-plan';
import type { Target } from '#test/observe/light-load';

/** Timeout of requests to Prometheus and Alertmanager, in milliseconds. */
const ANSWER_MS_MAX = 10_000;

/** The cluster of `make cluster`, which `make observe` monitors. */
export type WatchedCluster = {
  readonly plan: ClusterPlan;
  readonly target: Target;
  /** Names of the active alerts. */
  firing(): Promise<string[]>;
  /** Current values of a PromQL expression. */
  query(expr: string): Promise<QueryResult[]>;
  /** Sends a signal to a process. */
  signal(name: string, signal: NodeJS.Signals): void;
  /** Names of all processes with this prefix, such as `engine`. */
  namesOf(kind: string): string[];
};

/** A series with its current value. */
type QueryResult = {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [at: number, value: string];
};

/** Finds the running cluster of this machine. Throws if no cluster is running. */
export function watchedCluster(): WatchedCluster {
  const folder = clusterFolder();
  const record = readCluster(folder);
  const isRunning = runningServer(supervisorFolder(folder)) !== undefined;
  if (record === undefined || !isRunning)
    throw new Error('run make cluster and make observe first');
  const plan = clusterPlan(record.size);
  const { prometheus, alertmanager } = observePlan(plan);
  return {
    plan,
    target: { address: plan.address, key: readSecrets(folder)?.apiKey ?? '' },
    firing: async () => {
      const url = `${alertmanager.address}/api/v2/alerts?active=true`;
      const alerts = await jsonAt<{ labels: { alertname: string } }[]>(url);
      return [...new Set(alerts.map(({ labels }) => labels.alertname))].sort();
    },
    query: async (expr) => {
      const url = `${prometheus.address}/api/v1/query?query=${encodeURIComponent(expr)}`;
      return (await jsonAt<{ data: { result: QueryResult[] } }>(url)).data.result;
    },
    signal(name, signal) {
      const server = runningServer(processFolder(folder, name));
      if (server !== undefined) signalProcess(server, signal);
    },
    namesOf: (kind) =>
      readdirSync(join(folder, 'processes')).filter((name) => name.startsWith(kind)),
  };
}

async function jsonAt<Content>(url: string): Promise<Content> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  return (await answer.json()) as Content;
}
