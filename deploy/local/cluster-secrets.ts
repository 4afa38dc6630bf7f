import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LOCAL_PLAN, limitsOf } from '#accounts/plan';
import type { ClusterPlan } from '#deploy/local/cluster-plan';
import { newAccount } from '#deploy/local/new-account';
import { readJson } from '#deploy/local/processes/json-file';

/** Secrets of a cluster, kept between runs. */
export type ClusterSecrets = {
  /** Initial secret of all processes. `clusterSecretFile` has the current secret. */
  readonly clusterSecret: string;
  /** Key of the enterprise account that the first start creates; undefined before. */
  readonly apiKey?: string;
};

/** Timeout of a call to an edge, in ms. */
const ANSWER_MS_MAX = 10_000;

/** Maximum time to retry the first call, and interval between attempts, in ms. */
const FIRST_CALL_MS_MAX = 30_000;
const RETRY_MS = 200;

/** Reads the secrets of a folder. Creates the cluster secret and its file if missing. */
export async function openSecrets(folder: string): Promise<ClusterSecrets> {
  const known = readSecrets(folder);
  const secrets = known ?? { clusterSecret: randomBytes(24).toString('hex') };
  if (known === undefined) await writeSecrets(folder, secrets);
  const file = clusterSecretFile(folder);
  if (!existsSync(file)) await writeWhole(file, `${secrets.clusterSecret}\n`);
  return secrets;
}

/** File of the cluster secret. Processes read the file again when it changes. */
export function clusterSecretFile(folder: string): string {
  return join(folder, 'cluster-secret');
}

/** Secrets of a folder; undefined if no cluster has used the folder. */
export function readSecrets(folder: string): ClusterSecrets | undefined {
  return readJson(fileIn(folder));
}

/**
 * Returns the folder's API key. Creates an enterprise account with a key if the folder has no key,
 * or if the cluster refuses the key because its data was removed. Throws if the cluster does not
 * answer.
 */
export async function readyKey(plan: ClusterPlan, secrets: ClusterSecrets): Promise<string> {
  const { apiKey } = secrets;
  if (apiKey !== undefined && (await isAccepted(plan, apiKey))) return apiKey;
  const { requestsPerMinute, cyclesPerMonth } = limitsOf(LOCAL_PLAN);
  const limits = { requests_per_minute: requestsPerMinute, cycles_per_month: cyclesPerMonth };
  const { apiKey: key } = await newAccount(plan.adminUrl, 'local', limits);
  await writeSecrets(plan.folder, { ...secrets, apiKey: key });
  if (await isAccepted(plan, key)) return key;
  throw new Error('the cluster refuses the API key that it has just created: check its logs');
}

/**
 * Lists the account's instances, which needs an edge, a limiter and an engine. Retries refusals: on
 * a new server, reading the account may take longer than a call's deadline.
 */
async function isAccepted({ address }: ClusterPlan, key: string): Promise<boolean> {
  const deadlineMs = performance.now() + FIRST_CALL_MS_MAX;
  for (;;) {
    const response = await fetch(`${address}/v1/instances?limit=1`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    const text = await response.text();
    if (response.ok || response.status === 401) return response.ok;
    if (performance.now() > deadlineMs) throw new Error(`${address}: ${response.status} ${text}`);
    await sleep(RETRY_MS);
  }
}

async function writeSecrets(folder: string, secrets: ClusterSecrets): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeWhole(fileIn(folder), `${JSON.stringify(secrets, undefined, 2)}\n`);
}

/** Writes a file atomically. Only this user can read the file. */
async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

function fileIn(folder: string): string {
  return join(folder, 'secrets.json');
}
