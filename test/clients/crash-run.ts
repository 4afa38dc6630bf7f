import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LocalCluster, openLocalCluster } from '#deploy/local/local-cluster';
import { newAccount } from '#deploy/local/new-account';
import type { Print } from '#deploy/local/progress';
import { checkCluster, LIMITS, stopService } from '#test/chaos/chaos-run';
import { checkCharges } from '#test/chaos/checks/charges';
import type { CheckResult } from '#test/chaos/checks/stores';
import { finalUsagesOf } from '#test/chaos/load/account-usage';
import type { Call } from '#test/chaos/load/call-log';

/** A program that calls the service through a client library. Each driver has its own account. */
export type Driver = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
};

/** Result of one driver. */
export type Driven = {
  readonly calls: readonly Call[];
  /** Result of the check of the stores and of the account's charges. */
  readonly check: CheckResult;
};

/**
 * Processes to kill, in order. The check waits until the reservations of a killed edge have
 * expired.
 */
const KILLED = ['edge1', 'engine1', 'edge2', 'engine2'] as const;

/** Time before the first kill, for warm-up, in milliseconds. */
const WARM_MS = 8_000;
/** Time between two kills, in milliseconds. */
const APART_MS = 8_000;

/** Duration of the drivers' load, in seconds. The load ends after the last kill. */
export const DRIVEN_S = 45;

/** Additional time for drivers to finish open calls, in milliseconds. */
const FINISH_MS = 120_000;

/**
 * Crash test for client libraries. Drivers call a cluster with three engines, and two edges behind
 * a balancer, while processes are killed. Then the drivers' logs are compared with the stores.
 * Rejects if the cluster does not start or a driver fails.
 */
export async function runCrash(
  folder: string,
  ports: number,
  drivers: readonly Driver[],
  print: Print,
): Promise<Map<string, Driven>> {
  await mkdir(folder, { recursive: true });
  const place = { folder: join(folder, 'cluster'), ports, consoles: 0, print };
  await using cluster = await openLocalCluster(place);
  const started = await Promise.all(drivers.map((driver) => start(driver, cluster, folder)));
  await kill(cluster, print);
  const ended = await Promise.all(started.map(({ calls }) => calls));
  const accounts = started.map(({ accountId }) => accountId);
  const usages = await finalUsagesOf(cluster.plan.adminUrl, accounts);
  await stopService(cluster, print);
  const results = new Map<string, Driven>();
  for (const [index, { driver, accountId }] of started.entries()) {
    const calls = (ended[index] ?? []).map((call) => ({ ...call, accountId }));
    const check = await checkCluster(cluster, { calls }, [accountId], print);
    const own = usages.filter(({ account_id }) => account_id === accountId);
    checkCharges(own, check.committed, check.findings);
    results.set(driver.name, { calls, check });
  }
  return results;
}

async function kill(cluster: LocalCluster, print: Print): Promise<void> {
  await sleep(WARM_MS);
  for (const name of KILLED) {
    print(`kill -9 ${name}`);
    cluster.signal(name, 'SIGKILL');
    await sleep(APART_MS);
  }
}

/** Starts a driver in a new account. `calls` resolves to all calls that the driver logged. */
async function start(driver: Driver, cluster: LocalCluster, folder: string) {
  const { name, command, args, env = {} } = driver;
  const { address, adminUrl } = cluster.plan;
  const { accountId, apiKey } = await newAccount(adminUrl, name, LIMITS);
  const own = { IDENTITY_ENGINE_BASE_URL: `${address}/v1`, IDENTITY_ENGINE_API_KEY: apiKey };
  const child = spawn(command, args, {
    env: { ...process.env, ...own, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: DRIVEN_S * 1_000 + FINISH_MS,
    killSignal: 'SIGKILL',
  });
  const written = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  const calls = written.then(async ([lines, errors, [code]]): Promise<Call[]> => {
    await writeFile(join(folder, `${name}.jsonl`), lines);
    if (code !== 0) throw new Error(`${name} ended with ${code}: ${errors}`);
    return lines.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  });
  // `runCrash` awaits the promise only after the last kill: prevent an unhandled rejection before.
  calls.catch(() => undefined);
  return { driver, accountId, calls };
}
