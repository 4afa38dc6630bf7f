import { setTimeout as sleep } from 'node:timers/promises';
import type { NewAccount } from '#deploy/local/new-account';
import { type Print, withProgress } from '#deploy/local/progress';
import { checkDemands } from '#test/chaos/checks/demands';
import { type CheckResult, checkStores } from '#test/chaos/checks/stores';
import { Chance } from '#test/chaos/faults/chance';
import { CallLog } from '#test/chaos/load/call-log';
import { EdgeCaller } from '#test/chaos/load/edge-caller';
import { Load } from '#test/chaos/load/load';
import type { Disturbance } from '#test/chaos/timeline';
import type { PodCluster } from '#test/pods/cluster';
import type { PodFault } from '#test/pods/faults';
import { openForwardedStores } from '#test/pods/forwarded-stores';
import { PodScene } from '#test/pods/scene';

/** Port of the API at the balancer. */
const API_PORT = 8_000;

/** Size of the load, and the pauses around faults. */
export type FaultsPlan = {
  readonly faults: readonly PodFault[];
  readonly callsPerSecond: number;
  readonly instances: number;
  readonly warmS: number;
  readonly quietS: number;
  readonly print: Print;
};

/** Calls, faults and findings of a run. */
export type FaultsResult = {
  readonly log: CallLog;
  readonly disturbances: readonly Disturbance[];
  readonly check: CheckResult;
};

/**
 * Injects every fault while calls arrive at the balancer. Then stops the service, and compares the
 * stores with the answers.
 */
export async function runPodFaults(cluster: PodCluster, plan: FaultsPlan): Promise<FaultsResult> {
  const { faults, print, quietS, warmS } = plan;
  const scene = new PodScene(cluster, print);
  const account = await makeAccount(scene, 'faults');
  using caller = new EdgeCaller([await apiOrigin(scene)]);
  const log = new CallLog();
  const load = new Load({ log, caller, accounts: [account], chance: new Chance(1) });
  await load.prepare(plan.instances);
  const running = load.run(plan.callsPerSecond);
  print(`${warmS} s of load without faults`);
  await sleep(warmS * 1_000);
  const failures: string[] = [];
  for (const fault of faults) {
    print(fault.title);
    scene.fault = fault.name;
    await fault.run(scene).catch(({ message }: Error) => {
      print(`  ${message}`);
      failures.push(`${fault.title}: ${message}`);
    });
    await sleep(quietS * 1_000);
  }
  await load.stop();
  await running;
  await withProgress(print, 'stopping the service', () => stopService(scene));
  await using stores = await openForwardedStores(cluster);
  const check = await checkStores(log, [account.accountId], stores);
  const seen = { log, disturbances: scene.disturbances, storeOutages: [] };
  checkDemands(faults, seen, check.findings);
  for (const failure of failures) check.findings.add(failure);
  return { log, disturbances: scene.disturbances, check };
}

/** A plan whose limits no run reaches. */
const AMPLE_PLAN = [
  ...['--plan', 'enterprise', '--requests-per-minute', '1000000'],
  ...['--cycles-per-month', '100000000'],
] as const;

/** Creates an account with ctl in the pod of a limiter, as documented. */
export async function makeAccount(scene: PodScene, name: string): Promise<NewAccount> {
  const ctl = (...args: readonly string[]) =>
    scene.kubectl('exec', 'limiter-0', '--', 'node', 'services/main.ts', 'ctl', ...args);
  const made = await ctl('accounts', 'create', name, ...AMPLE_PLAN);
  const accountId = /^[A-Za-z0-9]{12}\b/m.exec(made)?.[0];
  if (accountId === undefined) throw new Error(`no account: ${made}`);
  const key = await ctl('keys', 'create', accountId, '--scope', 'full');
  const apiKey = /svc_sk_\w+/.exec(key)?.[0];
  if (apiKey === undefined) throw new Error(`no key: ${key}`);
  return { accountId, apiKey };
}

/** Address of the API at the balancer: `http://host:port`. */
export async function apiOrigin(scene: PodScene): Promise<string> {
  const args = ['-n', 'ingress', 'get', 'pods', '--selector=app=balancer'];
  const output = '--output=jsonpath={.items[0].status.podIP}';
  return `http://${await scene.objects.kubectl([...args, output])}:${API_PORT}`;
}

/** Removes all pods of the service cleanly, so that nothing changes the stores. */
async function stopService(scene: PodScene): Promise<void> {
  await scene.kubectl('delete', 'horizontalpodautoscaler', 'edge');
  for (const [component, workload] of [
    ...[['edge', 'deployment/edge'] as const, ['engine', 'statefulset/engine'] as const],
    ...[['courier', 'deployment/courier'] as const, ['limiter', 'statefulset/limiter'] as const],
  ]) {
    await scene.kubectl('scale', workload, '--replicas=0');
    await scene.ready(component, 0);
  }
}
