import { ActorHost, ONE_SHARD } from '#actor-runtime/actor-host';
import { CommitLog } from '#actor-runtime/commit-log';
import type { ShardGate } from '#actor-runtime/host-ports';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import { type DirectoryCall, DirectoryKind } from '#engine/directory/kind';
import { directoryCall, NOTIFIED, remoteDirectory } from '#engine/directory/owners';
import { InstanceKind } from '#engine/instance/kind';
import { engineMetrics } from '#engine/instance/process-call';
import type { ChunkBounds } from '#engine/instance/rows';
import { PastReads } from '#engine/past-reads';
import type { Fault } from '#errors/fault';
import type {
  EngineAnswer,
  EngineCall,
  EngineClient,
  EngineCommand,
  ObservationInput,
} from '#grpc/engine-messages';
import { MODELS, type Models } from '#identity/model';
import { memoryInstanceStore, memoryListingStore } from '#storage/memory/instances';
import { memoryJournal } from '#storage/memory/meters';
import { storedHistory } from '#storage/ports/chunks';
import type { InstanceStore } from '#storage/ports/instances';
import type { Journal } from '#storage/ports/journal';
import type { ListingStore } from '#storage/ports/listings';
import { createMetrics } from '#telemetry/metrics';
import { plainCall } from '#test/support/calls/engine-calls';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { refusalOf } from '#test/support/settled';

/** Account id of calls, unless a test names another. */
export const ACCOUNT_ID = 'Acc0unt00001';

/** Instance id of calls, unless a test names another. */
export const INSTANCE_ID = 'inst_00000000000000aa';

/** Initial time of the fixture's clock, in Unix milliseconds. */
export const START_MS = Date.UTC(2026, 0, 15, 12);

/** Idle age for evictions in milliseconds: the shortest that exceeds the memory of recent calls. */
const IDLE_AGE_MS = 30_000;

/** Age at which dirty instances are stored, in milliseconds. Below the default, for short tests. */
const CHECKPOINT_AGE_MS = 20_000;

/** Replaceable parts of the fixture. */
export type Replaced = {
  readonly store?: InstanceStore;
  readonly listings?: ListingStore;
  readonly journal?: Journal;
  readonly gate?: ShardGate;
  readonly chunkBounds?: ChunkBounds;
  readonly models?: Models;
  readonly mayFork?: () => boolean;
  readonly mayTag?: () => boolean;
};

/** A call with defaults for all fields but the command. */
export function callOf(
  command: EngineCommand,
  fields: Partial<Omit<EngineCall, 'command'>> = {},
): EngineCall {
  return plainCall({
    accountId: ACCOUNT_ID,
    instanceId: INSTANCE_ID,
    callId: 0,
    deadlineAtMs: Number.POSITIVE_INFINITY,
    ...fields,
    command,
  });
}

/** Chunk bounds that a few rows reach. */
export function chunksOfRows(history: number, drift = 2): ChunkBounds {
  const bytesMax = 4_096;
  return { history: { rowsMax: history, bytesMax }, drift: { rowsMax: drift, bytesMax } };
}

/** A `create` command for an instance in which no mode is stronger than another. */
export const CREATE = {
  kind: 'create',
  name: 'Ada',
  description: 'first of her name',
  modeStrengths: [0, 0, 0, 0, 0, 0, 0],
  energyLevel: 0.8,
} as const;

/** A `create` command with a home that is far from the observations of `pushed`. */
export const ANCHORED = { ...CREATE, modeStrengths: [0.1, 0.1, 0.8, 0.1, 0.1, 0.6, 0.1] } as const;

/** An observation. If `timestampMs` is undefined, the engine sets the time. */
export function seen(fields: Partial<ObservationInput> = {}): ObservationInput {
  return {
    mode: 2,
    signal: 0.7,
    confidence: 1,
    contextJson: '{}',
    timestampMs: undefined,
    ...fields,
  };
}

/** A `process` command. A single observation is a single call; several observations are a batch. */
export function process(
  ...observations: readonly ObservationInput[]
): Extract<EngineCommand, { kind: 'process' }> {
  const isBatch = observations.length > 1;
  return { kind: 'process', observations, isBatch, isEveryStateWanted: false };
}

/** A `process` command with observations of these fields; default: a neutral observation. */
export function observed(
  ...fields: readonly Partial<ObservationInput>[]
): Extract<EngineCommand, { kind: 'process' }> {
  return process(...(fields.length === 0 ? [seen()] : fields.map(seen)));
}

/** Observation `n`, which pushes an anchored identity from its home. Observations are 2 s apart. */
export function pushed(n: number): EngineCommand {
  return observed({ mode: n % 2 === 0 ? 1 : 3, signal: 1, timestampMs: START_MS + n * 2_000 });
}

/** Parses an answer's JSON. */
export function bodyOf({ body }: EngineAnswer): ReturnType<typeof JSON.parse> {
  return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString());
}

/** Hosts of instances and directories, on the stores and journal of a test. */
function hostsOf(
  replaced: Replaced,
  clock: ManualClock,
  store: InstanceStore,
  listings: ListingStore,
) {
  const log = new CommitLog(replaced.journal ?? memoryJournal(), clock);
  const metrics = createMetrics();
  const bugs: unknown[] = [];
  const config = {
    idleAgeMs: IDLE_AGE_MS,
    memoryBytesMax: 64 * 1_024 * 1_024,
    checkpointAgeMs: CHECKPOINT_AGE_MS,
  };
  const onBug = (error: unknown) => bugs.push(error);
  const portsOf = (actor: string) => {
    return {
      clock,
      log,
      gate: actor === 'instance' ? (replaced.gate ?? ONE_SHARD) : ONE_SHARD,
      onBug,
      metrics: runtimeMetrics(metrics, 'engine', actor),
    };
  };
  const directories = new ActorHost(
    new DirectoryKind(listings, clock),
    config,
    portsOf('directory'),
  );
  const engines = directoryOwner(directories);
  const directory = remoteDirectory(listings, engines, clock);
  const { chunkBounds, models, mayFork, mayTag } = replaced;
  const measured = engineMetrics(metrics, clock);
  const ports = { store, chunkBounds, models, mayFork, mayTag, directory, metrics: measured };
  const kind = new InstanceKind(ports);
  const host = new ActorHost(kind, config, portsOf('instance'));
  return { metrics, bugs, directories, host };
}

/** Delivers rows to the account's directory, like the owner of the account's shard. */
function directoryOwner(directories: {
  ask(accountId: string, call: DirectoryCall): unknown;
}): EngineClient {
  return {
    async ask(call) {
      const { command } = call;
      const { kind } = command;
      const isForDirectory =
        kind === 'putListingRow' || kind === 'removeListingRow' || kind === 'reservePlace';
      if (!isForDirectory) throw new Error('instances call other engines only for the listing');
      await directories.ask(call.accountId, directoryCall(call, command));
      return NOTIFIED;
    },
  };
}

/** Result of `instancesUnderTest`. */
export type InstanceScene = ReturnType<typeof instancesUnderTest>;

/** A scene with a new default instance. */
export async function createdInstance(
  replaced: Replaced = {},
  fields: Partial<Extract<EngineCommand, { kind: 'create' }>> = {},
): Promise<InstanceScene> {
  const scene = instancesUnderTest(replaced);
  await scene.ask({ ...CREATE, ...fields });
  return scene;
}

/** Instances on a real host with memory stores and a manual clock. */
export function instancesUnderTest(replaced: Replaced = {}) {
  const clock = new ManualClock(START_MS);
  const store = replaced.store ?? memoryInstanceStore();
  const listings = replaced.listings ?? memoryListingStore();
  const { metrics, bugs, directories, host } = hostsOf(replaced, clock, store, listings);
  const past = new PastReads({ store, models: MODELS, clock, metrics: createMetrics() });
  let lastCallId = 0;

  /** Sends a command with a new call id, unless `fields` has a call id. */
  async function ask(
    command: EngineCommand,
    fields: Partial<Omit<EngineCall, 'command'>> = {},
  ): Promise<EngineAnswer> {
    lastCallId += 1;
    const call = callOf(command, { callId: lastCallId, ...fields });
    const { instanceId } = call;
    const answer = await host.ask(instanceId, call);
    if (answer.replayed === undefined) return answer;
    const read = { kind: 'readStates', generation: undefined, cycles: [], points: 0 } as const;
    return await past.replay(call, answer.replayed, async () => {
      const { past: view } = await host.ask(instanceId, callOf(read, { instanceId }));
      if (view === undefined) throw new Error('the instance sent no view');
      return view;
    });
  }

  /** Advances the clock in steps, so that background work can complete. */
  const passed = (ms: number) => pass(clock, ms, 1_000);

  return {
    clock,
    store,
    listings,
    host,
    directories,
    bugs,
    metrics,
    ask,
    pass: passed,
    read: async (command: EngineCommand) => bodyOf(await ask(command)),
    refusal: async (command: EngineCommand, fields: Partial<Omit<EngineCall, 'command'>> = {}) =>
      (await refusalOf(() => ask(command, fields))) as Fault,
    /** Stored observations of the default instance, newest first. */
    storedRows: async () => {
      const head = await store.readHead(INSTANCE_ID);
      const page = { newest: 99, count: 99 };
      return head === undefined ? [] : storedHistory(store, INSTANCE_ID, head, page);
    },
    /** Advances the clock until everything is stored. Recently used instances stay in memory. */
    flush: () => passed(CHECKPOINT_AGE_MS + 2_000),
    /** Advances the clock until everything is stored and evicted. */
    evict: async () => {
      await passed(2 * IDLE_AGE_MS);
      if (host.residency.actors > 0) throw new Error('an actor remained in memory');
    },
    /** Advances the clock without a checkpoint or an eviction. */
    jump: (ms: number) => {
      clock.advance(ms);
    },
    isInMemory: (id = INSTANCE_ID) => host.readUnconfirmed(id, () => true) ?? false,
  };
}
