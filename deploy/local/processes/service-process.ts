import { fileURLToPath } from 'node:url';
import type { ClusterPlan, PlannedProcess } from '#deploy/local/cluster-plan';
import { clusterSecretFile } from '#deploy/local/cluster-secrets';
import { addressOf, askReady } from '#deploy/local/processes/readiness';
import { type ProgramRun, runProgram } from '#deploy/local/processes/run-program';
import {
  type LocalServer,
  type ServerPlace,
  startServer,
} from '#deploy/local/servers/local-server';

/** Maximum start time, in ms. A starting process waits for its dependencies. */
const READY_MS_MAX = 180_000;

/** Maximum time of a migration on a newly started server, in ms. */
const MIGRATE_MS_MAX = 120_000;

/** Entry file of the service. */
export const MAIN = fileURLToPath(import.meta.resolve('#main'));
/** Entry file of the balancer. */
const BALANCER = fileURLToPath(import.meta.resolve('#deploy/local/balancer'));

/** Variables of the service by name. */
export type Variables = Readonly<Record<string, string>>;

/** Starts a limiter, courier, engine, edge or console with these variables; resolves when ready. */
export function startServiceProcess(
  place: ServerPlace,
  planned: PlannedProcess,
  variables: Variables,
): Promise<LocalServer> {
  return startServer(place, {
    name: planned.name,
    program: process.execPath,
    args: [MAIN, planned.kind],
    env: environmentOf(variables),
    address: addressOf(planned),
    readyMsMax: READY_MS_MAX,
    ask: () => askReady(planned),
  });
}

/** Starts the balancer for the plan's processes; resolves when an edge answers through it. */
export function startBalancer(
  place: ServerPlace,
  planned: PlannedProcess,
  { processes }: ClusterPlan,
): Promise<LocalServer> {
  const entrances = (planned.entrances ?? []).map(({ port, kind }) => {
    const targets = processes.filter((each) => each.kind === kind);
    return `${port}=${targets.map((target) => `${target.port}/${target.operatorsPort}`)}`;
  });
  return startServer(place, {
    name: planned.name,
    program: process.execPath,
    args: [BALANCER, ...entrances],
    env: environmentOf({}),
    address: addressOf(planned),
    readyMsMax: READY_MS_MAX,
    ask: () => askReady(planned),
  });
}

/** Variables that let `ctl` administer the plan's cluster. */
export function ctlVariables({ folder, shared, adminUrl }: ClusterPlan): Variables {
  const own = {
    SERVICE_CLUSTER_SECRET_FILE: clusterSecretFile(folder),
    SERVICE_ADMIN_URL: adminUrl,
  };
  return { ...shared, ...own };
}

/** Creates or migrates the service's tables. */
export function runMigrate(variables: Variables): Promise<ProgramRun> {
  return runProgram({
    program: process.execPath,
    args: [MAIN, 'migrate'],
    env: environmentOf(variables),
    msMax: MIGRATE_MS_MAX,
  });
}

/** This process's environment, with its `SERVICE_` variables replaced by `variables`. */
export function environmentOf(variables: Variables): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !name.startsWith('SERVICE_')) kept[name] = value;
  }
  return { ...kept, ...variables };
}
