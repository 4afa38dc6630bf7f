import { fileURLToPath } from 'node:url';
import type { ClusterPlan, PlannedProcess } from '#deploy/local/cluster-plan';
import { clusterSecretFile } from '#deploy/local/cluster-secrets';
import { type LocalServer, type ServerPlace, startServer } from '#deploy/local/local-server';
import { addressOf, askReady } from '#deploy/local/readiness';
import { type ProgramRun, runProgram } from '#deploy/local/run-program';

/** A start waits for whatever it needs; one that takes longer is broken. Milliseconds. */
const READY_MS_MAX = 180_000;

/** Making the tables on a server that has just started, in milliseconds. */
const MIGRATE_MS_MAX = 120_000;

/** The service's one executable, and the balancer's. */
export const MAIN = fileURLToPath(import.meta.resolve('#main'));
const BALANCER = fileURLToPath(import.meta.resolve('#deploy/local/balancer'));

/** Variables of the service by name. */
export type Variables = Readonly<Record<string, string>>;

/** Starts a limiter, an engine, an edge or a console with these variables; fulfils when it is ready. */
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

/** Starts the balancer in front of the processes of the plan; fulfils when it answers. */
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

/** What `ctl` needs to look at the cluster of this plan, and to administer its accounts. */
export function ctlVariables({ folder, shared, adminUrl }: ClusterPlan): Variables {
  const own = {
    SERVICE_CLUSTER_SECRET_FILE: clusterSecretFile(folder),
    SERVICE_ADMIN_URL: adminUrl,
  };
  return { ...shared, ...own };
}

/** Makes the tables that the processes need, or brings them up to date. */
export function runMigrate(variables: Variables): Promise<ProgramRun> {
  return runProgram({
    program: process.execPath,
    args: [MAIN, 'migrate'],
    env: environmentOf(variables),
    msMax: MIGRATE_MS_MAX,
  });
}

/** This process's environment with these variables of the service and no others. */
export function environmentOf(variables: Variables): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !name.startsWith('SERVICE_')) kept[name] = value;
  }
  return { ...kept, ...variables };
}
