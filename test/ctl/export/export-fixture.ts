import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Account, ApiKeyRecord } from '#accounts/account';
import { composeEngine } from '#engine/engine-node';
import type { CourierClient } from '#grpc/courier-messages';
import type { EngineCall, EngineClient, EngineCommand } from '#grpc/engine-messages';
import { MODEL_1_0, MODEL_1_1 } from '#identity/model';
import type { Clock } from '#stdlib/clock';
import { memoryJournal } from '#storage/memory/meters';
import { createMetrics } from '#telemetry/metrics';
import { clusterInMemory } from '#test/ctl/cluster-fixture';
import { type Cluster, serving } from '#test/ctl/ctl-on-cluster';
import { ctl } from '#test/ctl/ctl-run';
import {
  ACCOUNT_ID,
  ANCHORED,
  CREATE,
  callOf,
  observed,
  pushed,
  START_MS,
} from '#test/engine/instance/instance-fixture';
import { addKey } from '#test/storage/contracts/stored-keys';
import { ManualClock } from '#test/support/manual-clock';

/** The account that is exported. */
export const ACCOUNT: Account = {
  id: ACCOUNT_ID,
  name: 'Ada & Co',
  plan: 'enterprise',
  status: 'suspended',
  limits: { requestsPerMinute: 7, cyclesPerMonth: 8, instances: 9 },
  modelVersion: MODEL_1_0.version,
  planChange: {
    plan: 'free',
    limits: { requestsPerMinute: 10, cyclesPerMonth: 10_000, instances: 1_000 },
    atMs: 1_900_000_000_000,
    from: 'pro',
  },
  retention: 'none',
  createdAtMs: 1,
};

/** The account's keys, one per kind. */
export const KEYS: readonly ApiKeyRecord[] = [
  keyOf(1, {}),
  keyOf(2, { scope: 'read', revokedAtMs: 7 }),
  keyOf(3, {
    expiresAtMs: Date.UTC(2090, 1, 1),
    ...{ name: 'Zoë’s 💻', hint: 'ab12', networks: ['10.0.0.0/8'] },
    ...{ disabledAtMs: 7, replacedBy: 'key_0000000000000001' },
  }),
];

/** Ids of the account's instances, by special case. */
export const IDS = {
  empty: 'inst_00000000000000a1',
  drifting: 'inst_00000000000000a2',
  reset: 'inst_00000000000000a3',
  long: 'inst_00000000000000a4',
} as const;

/** Number of observations of the long instance. Together they exceed the size of one write. */
const LONG = 700;

const CONFIG = { idleAgeMs: 60_000, memoryBytesMax: 64 * 1_024 * 1_024 };

/** A context that JSON must escape. */
const CONTEXT = JSON.stringify({ text: `"\\\n\u2028ä€😀${'x'.repeat(3_000)}` });

/** Stores of an installation with the account and all its instances stored. */
export async function source(): Promise<Cluster> {
  const cluster = await clusterInMemory([]);
  const { accounts } = cluster.stores;
  await accounts.create({ ...ACCOUNT, status: 'active' });
  for (const key of KEYS) await addKey(accounts, ACCOUNT_ID, key);
  await accounts.setStatus(ACCOUNT_ID, 'suspended');
  const clock = new ManualClock(START_MS);
  await using engine = engineOn(cluster, clock);
  const ask = askerOf(engine);
  // One instance keeps model 1.0, one changes to model 1.1, and two start with model 1.1.
  const ofFirst = [IDS.reset, IDS.drifting] as readonly string[];
  for (const id of Object.values(IDS)) {
    const modelVersion = ofFirst.includes(id) ? MODEL_1_0.version : undefined;
    await ask(id, id === IDS.drifting ? ANCHORED : CREATE, { modelVersion });
  }
  for (let n = 1; n <= 60; n += 1) {
    await ask(IDS.drifting, pushed(n), n === 31 ? { modelVersion: MODEL_1_1.version } : {});
  }
  const tagsJson = JSON.stringify({ 'te\u0001am': '"a"', Team: '😀' });
  const renamed = { kind: 'rename', name: 'Näme\u0007', description: undefined, tagsJson } as const;
  await ask(IDS.drifting, renamed);
  for (const [index, mode] of (['initial', 'default', 'initial'] as const).entries()) {
    const timestampMs = START_MS + 10_000 * (index + 1);
    await ask(IDS.reset, observed({ timestampMs, signal: -0, confidence: 0.1 + 0.2 }));
    clock.advance(20_000);
    await ask(IDS.reset, { kind: 'reset', mode });
  }
  await ask(IDS.reset, observed());
  for (let n = 0; n < LONG; n += 1) {
    const timestampMs = START_MS + 2_000 * n;
    await ask(IDS.long, observed({ timestampMs, contextJson: CONTEXT, mode: n % 7 }));
  }
  return cluster;
}

/** A single engine on a cluster's stores. The engine stores everything when it ends. */
export function engineOn(
  { stores }: Cluster,
  clock: Clock = new ManualClock(START_MS),
  journal = memoryJournal(),
  courier?: CourierClient,
): EngineClient & AsyncDisposable {
  const onBug = (error: unknown) => assert.unreachable(String(error));
  const ports = { ...stores, clock, metrics: createMetrics(), onBug, journal, courier };
  return composeEngine(CONFIG, ports);
}

/** Returns a function that sends calls of the account to an engine. */
export function askerOf(engine: EngineClient) {
  let lastCallId = 0;
  return async (
    instanceId: string,
    command: EngineCommand,
    chosen: Pick<EngineCall, 'modelVersion'> = {},
  ) => {
    lastCallId += 1;
    return await engine.ask(callOf(command, { instanceId, callId: lastCallId, ...chosen }));
  };
}

/** A cluster without the account. */
export async function target(): Promise<Cluster> {
  const cluster = await clusterInMemory(['a', 'b']);
  await serving(cluster, { a: 4, b: 4 });
  return cluster;
}

/** Exports the account. Returns the text of the export. */
export async function exportOf(cluster: Cluster): Promise<string> {
  const clock = new ManualClock(START_MS);
  const { code, err, written } = await ctl(['export', ACCOUNT_ID], {
    cluster: { ...cluster.ports, clock },
  });
  assert.is(code, 0, err);
  return written;
}

/** Writes a text to a file and imports the file. In `err`, FILE replaces the path. */
export async function importOf(cluster: Cluster, text: string | Buffer) {
  await using folder = await folderOfTest();
  const path = join(folder.path, 'export.ndjson');
  await writeFile(path, text);
  // A clock that does not advance, so that a slow machine prints no progress.
  const clock = new ManualClock(START_MS);
  const { code, out, err } = await ctl(['import', path], { cluster: { ...cluster.ports, clock } });
  return { code, out, err: err.replaceAll(path, 'FILE') };
}

/** Runs a timer's task after all pending work. */
export function soon(task: () => void): Disposable {
  const immediate = setImmediate(task);
  return { [Symbol.dispose]: () => clearImmediate(immediate) };
}

/** A folder for test files. */
export async function folderOfTest() {
  const path = await mkdtemp(join(tmpdir(), 'ctl-export-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** Reads a file as text. */
export function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8');
}

/** Changes the first export line of a kind, and updates the digest in the last line. */
export function changed(
  text: string,
  kind: string,
  change: (line: Record<string, unknown>) => object,
): string {
  const lines = text.trimEnd().split('\n');
  const place = lines.findIndex((line) => line.startsWith(`{"kind":"${kind}"`));
  lines[place] = JSON.stringify(change(JSON.parse(lines[place] ?? '')));
  return closed(lines.slice(0, -1), JSON.parse(lines.at(-1) ?? ''));
}

/** Appends the last line, with the digest of the lines before it. */
export function closed(lines: readonly string[], end: object): string {
  const before = lines.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(before).digest('hex');
  return `${before}${JSON.stringify({ ...end, sha256 })}\n`;
}

function keyOf(number: number, fields: Partial<ApiKeyRecord>): ApiKeyRecord {
  const id = `key_${String(number).padStart(16, '0')}`;
  const digest = String(number).padStart(43, 'd');
  return { id, digest, scope: 'full', createdAtMs: 5, ...fields };
}
