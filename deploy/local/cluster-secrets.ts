import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LOCAL_PLAN, limitsOf } from '#accounts/plan';
import type { ClusterPlan } from '#deploy/local/cluster-plan';
import { readJson } from '#deploy/local/json-file';
import { newAccount } from '#deploy/local/new-account';

/** What a cluster keeps to itself between runs. */
export type ClusterSecrets = {
  /** Shared by all processes, as it was at first: what counts is in `clusterSecretFile`. */
  readonly clusterSecret: string;
  /** Of an enterprise account that the first start makes; undefined until then. */
  readonly apiKey?: string;
};

/** How long an edge may take for a call of the cluster's own, in milliseconds. */
const ANSWER_MS_MAX = 10_000;

/** How long the first call may be refused, and how soon it is tried again, in milliseconds. */
const FIRST_CALL_MS_MAX = 30_000;
const RETRY_MS = 200;

/** The secrets of this folder; the shared one, and its file, are made if they are not there yet. */
export async function openSecrets(folder: string): Promise<ClusterSecrets> {
  const known = readSecrets(folder);
  const secrets = known ?? { clusterSecret: randomBytes(24).toString('hex') };
  if (known === undefined) await writeSecrets(folder, secrets);
  const file = clusterSecretFile(folder);
  if (!existsSync(file)) await writeWhole(file, `${secrets.clusterSecret}\n`);
  return secrets;
}

/** The file of the secret that all processes share; they read it again when it changes. */
export function clusterSecretFile(folder: string): string {
  return join(folder, 'cluster-secret');
}

/** The secrets of this folder, if a cluster has ever been started on it. */
export function readSecrets(folder: string): ClusterSecrets | undefined {
  return readJson(fileIn(folder));
}

/**
 * The key that the folder keeps; a new enterprise account and key when it keeps none, or one that this
 * cluster does not know because its data was removed. Rejects when the cluster does not answer.
 */
export async function readyKey(plan: ClusterPlan, secrets: ClusterSecrets): Promise<string> {
  const { apiKey } = secrets;
  if (apiKey !== undefined && (await isKnown(plan, apiKey))) return apiKey;
  const { requestsPerMinute, cyclesPerMonth } = limitsOf(LOCAL_PLAN);
  const limits = { requests_per_minute: requestsPerMinute, cycles_per_month: cyclesPerMonth };
  const { apiKey: key } = await newAccount(plan.adminUrl, 'local', limits);
  await writeSecrets(plan.folder, { ...secrets, apiKey: key });
  if (await isKnown(plan, key)) return key;
  throw new Error('the key that was just made is not known');
}

/**
 * Asks for the account's instances, which takes an edge, a limiter and an engine. A first call may be
 * refused, because reading the account from a server that has just started takes longer than a call may.
 */
async function isKnown({ address }: ClusterPlan, key: string): Promise<boolean> {
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

/** For this user's eyes only, and never half written. */
async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

function fileIn(folder: string): string {
  return join(folder, 'secrets.json');
}
