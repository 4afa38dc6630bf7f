import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { ClusterPlan, PlannedProcess } from '#deploy/local/cluster-plan';
import { RULES_FILE } from '#deploy/observe/rule-files';

/** Offsets into the cluster's block of ports that no process of it takes. */
const PROMETHEUS = 97;
const ALERTMANAGER = 98;

/** Often, so that what has just been done to the cluster is seen at once; 15 s elsewhere. */
const SCRAPE_EVERY = '5s';

/** What watches a local cluster: two servers on loopback, and where they keep their things. */
export type ObservePlan = {
  readonly prometheus: { readonly port: number; readonly address: string; readonly folder: string };
  readonly alertmanager: {
    readonly port: number;
    readonly address: string;
    readonly folder: string;
  };
  readonly logFolder: string;
};

/** What watches the cluster of this plan. */
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

/** What alerts of the local cluster carry, and where their links lead: into this checkout. */
const EXTERNAL_LABELS = {
  cluster: 'local',
  runbook_base: new URL('../../', import.meta.url).href,
  grafana_base: 'http://127.0.0.1:3000',
};

/** Prometheus's settings: every process of the cluster under its role and its name. */
export function prometheusSettings(cluster: ClusterPlan, { alertmanager }: ObservePlan): string {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const roles = ['edge', 'engine', 'limiter', 'console'] as const;
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

/** Alertmanager's settings: alerts are shown and sent to no one. */
export const ALERTMANAGER_SETTINGS = stringify({
  route: { receiver: 'nowhere', group_by: ['alertname'], group_wait: '1s', group_interval: '5s' },
  receivers: [{ name: 'nowhere' }],
});
