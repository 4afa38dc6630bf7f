import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { ClusterPlan, PlannedProcess } from '#deploy/local/cluster-plan';
import { RULES_FILE } from '#deploy/observe/rule-files';

/** Offsets in the cluster's block of ports. The cluster's processes do not use these ports. */
const PROMETHEUS = 97;
const ALERTMANAGER = 98;

/** Scrape interval. Short, so that changes are visible soon; other installations use 15 s. */
const SCRAPE_EVERY = '5s';

/** Ports and folders of Prometheus and Alertmanager for a local cluster. */
export type ObservePlan = {
  readonly prometheus: { readonly port: number; readonly address: string; readonly folder: string };
  readonly alertmanager: {
    readonly port: number;
    readonly address: string;
    readonly folder: string;
  };
  readonly logFolder: string;
};

/** Plan of Prometheus and Alertmanager for a cluster. */
export function observePlan({ folder, logFolder, ports }: ClusterPlan): ObservePlan {
  const placeOf = (name: string, port: number) => ({
    port,
    address: `http://127.0.0.1:${port}`,
    folder: join(folder, 'observe', name),
  });
  return {
    prometheus: placeOf('prometheus', ports + PROMETHEUS),
    alertmanager: placeOf('alertmanager', ports + ALERTMANAGER),
    logFolder,
  };
}

/** External labels of alerts, whose links point into this checkout. */
const EXTERNAL_LABELS = {
  cluster: 'local',
  runbook_base: new URL('../../', import.meta.url).href,
  grafana_base: 'http://127.0.0.1:3000',
};

/**
 * Settings of Prometheus, which scrapes every process of the cluster and adds labels for role and
 * name.
 */
export function prometheusSettings(cluster: ClusterPlan, { alertmanager }: ObservePlan): string {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const roles = ['edge', 'engine', 'limiter', 'courier', 'console'] as const;
  return stringify({
    global: {
      scrape_interval: SCRAPE_EVERY,
      scrape_timeout: '3s',
      evaluation_interval: SCRAPE_EVERY,
      external_labels: EXTERNAL_LABELS,
    },
    rule_files: [resolve(root, RULES_FILE)],
    alerting: {
      alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanager.port}`] }] }],
    },
    scrape_configs: roles.map((role) => ({
      job_name: role,
      static_configs: cluster.processes.filter(({ kind }) => kind === role).map(targetOf),
    })),
  });
}

function targetOf({ name, operatorsPort }: PlannedProcess) {
  return { targets: [`127.0.0.1:${operatorsPort}`], labels: { instance: name } };
}

/** Settings of Alertmanager, which shows alerts but sends none. */
export const ALERTMANAGER_SETTINGS = stringify({
  route: { receiver: 'nowhere', group_by: ['alertname'], group_wait: '1s', group_interval: '5s' },
  receivers: [{ name: 'nowhere' }],
});
