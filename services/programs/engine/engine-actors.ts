import { strict as assert } from 'node:assert';
import { ActorHost, type HostLoad, hostLoad } from '#actor-runtime/actor-host';
import type { CommitLog } from '#actor-runtime/commit-log';
import type { ActorHostConfig, ShardGate } from '#actor-runtime/host-ports';
import { Outbox, type SentNotice } from '#actor-runtime/outbox';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import type { AuditTrail } from '#audit/trail';
import { IndexedReads } from '#engine/directory/indexed-reads';
import { type IndexedOf, indexedAnswer } from '#engine/directory/indexed-values';
import { Indexer } from '#engine/directory/indexer';
import { type DirectoryAnswer, DirectoryKind } from '#engine/directory/kind';
import {
  directoryCall,
  NOTIFIED,
  remoteDirectory,
  summariesAnswer,
} from '#engine/directory/owners';
import { storedPage } from '#engine/directory/stored-page';
import {
  fleetAnswer,
  fleetCounts,
  type HeadOf,
  pageAnswer,
  readSummaries,
  type SummariesOf,
} from '#engine/directory/summary';
import { awaitedEvents, EventWaiters } from '#engine/events/pages';
import { FeedKind, recordMetrics, type Unrecorded } from '#engine/feed/kind';
import { newestEvents, newestFirstAnswer } from '#engine/feed/newest-first';
import { awaitedFeed, type FeedPageParts } from '#engine/feed/pages';
import {
  activeInstanceOf,
  type InstanceAnswer,
  InstanceKind,
  storedHeadOf,
} from '#engine/instance/kind';
import type { PastView } from '#engine/instance/past';
import { engineMetrics } from '#engine/instance/process-call';
import type { ChunkBounds } from '#engine/instance/rows';
import { type PastCommand, PastReads } from '#engine/past-reads';
import { Deliverers, type EndpointCounts, type FeedCalls } from '#engine/webhooks/deliverers';
import type { ActiveInstance } from '#grpc/admin';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import type { CourierClient } from '#grpc/courier-messages';
import {
  type EngineAnswer,
  type EngineCall,
  type EngineClient,
  type TransitionRow,
  unnamedCall,
} from '#grpc/engine-messages';
import { MODELS, type Models } from '#identity/model';
import type { Clock } from '#stdlib/clock';
import type { FeedStore } from '#storage/ports/feeds';
import type { InstanceStore } from '#storage/ports/instances';
import type { ListingStore } from '#storage/ports/listings';
import type { Metrics } from '#telemetry/metrics';
import type { ProcessPorts } from '#telemetry/process-ports';
import { traced } from '#telemetry/tracer';

/** Dependencies of the actors of an engine. */
export type EngineActorsPorts = ProcessPorts & {
  readonly metrics: Metrics;
  readonly log: CommitLog;
  readonly gate: ShardGate;
  /** Buckets of the stored states of a shard. */
  readonly bucketsOf: (shard: number) => readonly number[];
  readonly courier: CourierClient | undefined;
  readonly trail: Pick<AuditTrail, 'around'> | undefined;
  /** Uniform in [0, 1), for the pauses of deliveries. */
  readonly random: () => number;
  readonly instances: InstanceStore;
  readonly listings: ListingStore;
  readonly feeds: FeedStore;
  /** Whether every engine can record transitions. */
  readonly isRecording: () => boolean;
  /** Models that instances may use. Undefined: all models in this program. */
  readonly models?: Models | undefined;
  /** Bounds for moving rows from a head to chunks. Undefined: `CHUNK_BOUNDS`. */
  readonly chunkBounds?: ChunkBounds | undefined;
  /** Whether all engines can read forked instances. Undefined: always. */
  readonly mayFork?: (() => boolean) | undefined;
  /** Whether all engines can read tags. Undefined: always. */
  readonly mayTag?: (() => boolean) | undefined;
  /** All engines, including this engine; undefined without a cluster. */
  readonly engines: EngineClient | undefined;
  /** Whether all engines answer the values of instances. Undefined: always. */
  readonly mayIndex?: (() => boolean) | undefined;
  /** Reads values for indexes from all engines; undefined if this engine owns all instances. */
  readonly indexedOf?: IndexedOf | undefined;
  /** Reads summaries from all engines; undefined if this engine owns all instances. */
  readonly summariesOf: SummariesOf | undefined;
};

type Command<Kind extends EngineCall['command']['kind']> = Extract<
  EngineCall['command'],
  { kind: Kind }
>;

/**
 * Instances, account directories and account feeds on a common journal. Together they answer every
 * engine call.
 */
export class EngineActors implements EngineClient, AsyncDisposable {
  readonly #instances;
  readonly #directories;
  readonly #feeds;
  readonly #outbox: Outbox;
  readonly #waiters: EventWaiters;
  readonly #deliverers: Deliverers;
  readonly #past: PastReads;
  readonly #indexedReads: IndexedReads;
  readonly #indexer: Indexer;
  readonly #ports: EngineActorsPorts;
  readonly #models: Models;
  readonly #headOf: HeadOf;
  readonly #summariesOf: SummariesOf;
  #calls = 0;

  constructor(config: ActorHostConfig, ports: EngineActorsPorts) {
    this.#ports = ports;
    this.#waiters = new EventWaiters(ports.clock);
    const { models = MODELS } = ports;
    this.#models = models;
    const { clock, log, gate, onBug, tracer, metrics, engines = this } = ports;
    const hostPorts = (actor: 'instance' | 'directory' | 'feed') => {
      const reported = runtimeMetrics(metrics, 'engine', actor);
      return { clock, log, gate, onBug, tracer, metrics: reported };
    };
    const directories = new DirectoryKind(ports.listings, clock);
    this.#directories = new ActorHost(directories, config, hostPorts('directory'));
    this.#deliverers = this.#newDeliverers();
    const deliverers = this.#deliverers;
    const feeds = new FeedKind({ store: ports.feeds, waiters: this.#waiters, deliverers });
    const onLeft = (shard: number | undefined) => {
      this.#waiters.left(shard);
      deliverers.left(shard);
    };
    this.#feeds = new ActorHost(feeds, config, { ...hostPorts('feed'), onLeft });
    this.#outbox = new Outbox({
      log,
      clock,
      onBug,
      isOn: ports.isRecording,
      metrics: recordMetrics(metrics),
      send: (accountId, notices) => recordTransitions(engines, clock, accountId, notices),
    });
    const outbox = this.#outbox;
    const instances = new InstanceKind({
      store: ports.instances,
      chunkBounds: ports.chunkBounds,
      models,
      mayFork: ports.mayFork,
      mayTag: ports.mayTag,
      directory: remoteDirectory(ports.listings, engines, clock),
      metrics: engineMetrics(metrics, clock),
      waiters: this.#waiters,
      outbox,
    });
    this.#instances = new ActorHost(instances, config, {
      ...hostPorts('instance'),
      outbox,
      onLeft,
    });
    this.#past = new PastReads({ store: ports.instances, models, clock, metrics });
    const storedHead = storedHeadOf(ports.instances, models, onBug);
    this.#headOf = async (id) =>
      (await this.#instances.read(id, ({ head }) => head)) ?? (await storedHead(id));
    const indexedReads = new IndexedReads({
      ...{ gate, log, models, isRecording: ports.isRecording },
      instances: this.#instances,
      storedHeadOf: storedHead,
    });
    this.#indexedReads = indexedReads;
    this.#indexer = this.#newIndexer(ports.indexedOf ?? ((_, ids) => indexedReads.read(ids)));
    this.#summariesOf = ports.summariesOf ?? ((_, ids) => readSummaries(ids, this.#headOf, models));
  }

  /** Called when this process has begun to serve a shard. */
  opened(shard: number): void {
    this.#deliverers.opened(shard).catch(this.#ports.onBug);
  }

  /** Actor hosts, for the node that opens and closes shards. */
  get hosts() {
    return [this.#instances, this.#directories, this.#feeds];
  }

  /** Transitions of these instances that are not in the log of their account yet. */
  get unrecorded(): Unrecorded {
    return this.#outbox;
  }

  /** The actors' memory use, and the call count. */
  get load(): HostLoad & { readonly calls: number } {
    return { ...hostLoad(this.hosts), calls: this.#calls };
  }

  /** Reads an instance in memory, for operators; undefined if the instance is not active. */
  async readActive(instanceId: string): Promise<ActiveInstance | undefined> {
    return await this.#instances.read(instanceId, (state) =>
      activeInstanceOf(instanceId, state, this.#models),
    );
  }

  ask(call: EngineCall): EngineAnswer | Promise<EngineAnswer> {
    this.#calls += 1;
    const { command } = call;
    switch (command.kind) {
      case 'list':
        return this.#list(call, command);
      case 'readFleet':
        return this.#readFleet(call, command);
      case 'reservePlace':
        return this.#reserve(call, command);
      case 'putListingRow':
      case 'removeListingRow':
        return this.#notify(call, command);
      case 'readSummaries':
        return summariesAnswer(command.instanceIds, this.#headOf, this.#models);
      case 'readIndexed':
        return this.#indexedReads.read(command.instanceIds).then(indexedAnswer);
      case 'readEvents':
        return this.#readEvents(call, command);
      case 'recordTransitions':
        return this.#record(call, command);
      case 'readFeed':
        return this.#readFeed(call, command);
      case 'webhook':
        return this.#deliverers.answer(call, command);
      case 'readStates':
      case 'readForkStart':
        return this.#readPast(call, command);
      default: {
        const answered = this.#instances.ask(call.instanceId, call);
        if (call.idempotency === undefined) return answered;
        if (!(answered instanceof Promise)) return this.#rebuilt(call, answered);
        return answered.then((answer) => this.#rebuilt(call, answer));
      }
    }
  }

  #newIndexer(indexedOf: IndexedOf): Indexer {
    const { clock, metrics, feeds, isRecording, mayIndex = () => true } = this.#ports;
    const within = () => ({ callId: 0, deadlineAtMs: clock.wallMs() + CALL_TIMEOUT_MS_MAX });
    return new Indexer({
      ...{ clock, metrics, store: feeds, indexedOf },
      mayIndex: () => isRecording() && mayIndex(),
      useListing: async (accountId, use) => {
        await this.#directories.ask(accountId, { kind: 'useIndex', use, ...within() });
      },
      look: async (accountId, from, count) =>
        await this.#feeds.ask(accountId, { kind: 'look', accountId, from, count, ...within() }),
    });
  }

  /** Refuses new calls, then stores all unstored changes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#indexer[Symbol.dispose]();
    await this.#instances[Symbol.asyncDispose]();
    await this.#directories[Symbol.asyncDispose]();
    // Stored instances have sent their transitions, so the feeds are stored last.
    await this.#feeds[Symbol.asyncDispose]();
  }

  #readEvents(call: EngineCall, command: Command<'readEvents'>) {
    const ask = (id: string, asked: EngineCall) => this.#instances.ask(id, asked);
    if (command.waitMs === 0) return ask(call.instanceId, call);
    const { clock, gate } = this.#ports;
    const shardOf = (id: string) => gate.shardOf(id);
    return awaitedEvents(call, command, { clock, waiters: this.#waiters, shardOf, ask });
  }

  async #record(call: EngineCall, { rows }: Command<'recordTransitions'>): Promise<EngineAnswer> {
    const { callId, deadlineAtMs, accountId, traceparent } = call;
    const record = { kind: 'record', accountId, rows, callId, deadlineAtMs } as const;
    await this.#feeds.ask(accountId, traced(record, traceparent));
    return NOTIFIED;
  }

  async #readFeed(call: EngineCall, question: Command<'readFeed'>): Promise<EngineAnswer> {
    const { callId, deadlineAtMs, accountId, traceparent } = call;
    const { clock, gate, feeds } = this.#ports;
    const parts: FeedPageParts = {
      accountId,
      store: feeds,
      look: async (from, count) => {
        const look = { kind: 'look', accountId, from, count, callId, deadlineAtMs } as const;
        return await this.#feeds.ask(accountId, traced(look, traceparent));
      },
    };
    if (question.isNewestFirst) return await newestFirstAnswer(question, parts);
    const { isQuiet: _, ...answer } = await awaitedFeed(question, {
      ...{ ...parts, clock, deadlineAtMs },
      waiters: this.#waiters,
      shard: gate.shardOf(accountId),
    });
    return answer;
  }

  /** Deliverers that call the feeds of this process. */
  #newDeliverers(): Deliverers {
    const {
      clock,
      feeds: store,
      courier,
      trail,
      random,
      metrics,
      gate,
      bucketsOf,
      onBug,
    } = this.#ports;
    const feedsWithin = (deadlineAtMs: () => number, traceparent?: string): FeedCalls => ({
      look: async (accountId, from, count) => {
        const look = { kind: 'look', accountId, from, count, callId: 0 } as const;
        const call = traced({ ...look, deadlineAtMs: deadlineAtMs() }, traceparent);
        return await this.#feeds.ask(accountId, call);
      },
      change: async (accountId, callId, decide) => {
        const change = { kind: 'changeEndpoint', accountId, decide, callId } as const;
        const call = traced({ ...change, deadlineAtMs: deadlineAtMs() }, traceparent);
        return await this.#feeds.ask(accountId, call);
      },
    });
    return new Deliverers({
      ...{ clock, store, courier, trail, random, metrics, bucketsOf, onBug },
      shardOf: (accountId) => gate.shardOf(accountId),
      isServed: (shard) => isServed(gate, shard),
      mayChange: this.#ports.isRecording,
      feeds: feedsWithin(() => clock.wallMs() + CALL_TIMEOUT_MS_MAX),
      feedsFor: ({ deadlineAtMs, traceparent }) => feedsWithin(() => deadlineAtMs, traceparent),
    });
  }

  /** Number of webhook endpoints in each state. */
  get endpointCounts(): EndpointCounts {
    return this.#deliverers.counts;
  }

  #readPast(call: EngineCall, command: PastCommand): Promise<EngineAnswer> {
    return this.#past.answer(call, command, () => this.#viewOf(call));
  }

  /** Rebuilds a replayed answer that is stored as a position. */
  #rebuilt(call: EngineCall, answered: InstanceAnswer): EngineAnswer | Promise<EngineAnswer> {
    const { replayed: position } = answered;
    if (position === undefined) return answered;
    const { accountId, instanceId, deadlineAtMs, traceparent } = call;
    const command = { kind: 'readStates', generation: undefined, cycles: [], points: 0 } as const;
    const read = traced(unnamedCall({ accountId, instanceId, deadlineAtMs, command }), traceparent);
    return this.#past.replay(call, position, () => this.#viewOf(read));
  }

  async #viewOf(call: EngineCall): Promise<PastView> {
    const { past } = await this.#instances.ask(call.instanceId, call);
    assert(past !== undefined, 'an instance answers a call about its past with a view');
    return past;
  }

  async #list(call: EngineCall, page: Command<'list'>): Promise<EngineAnswer> {
    const { accountId, traceparent } = call;
    const { listings } = this.#ports;
    const isLoaded = this.#directories.isLoaded(accountId);
    const stored = isLoaded ? undefined : storedPage(listings, accountId, page);
    const answer = await (stored ?? this.#pageOf(call, page));
    const ids = answer.rows.map(({ instanceId }) => instanceId);
    const summaries = await this.#summariesOf(accountId, ids, traceparent);
    const unseen = ids.filter((id) => !summaries.has(id));
    const descriptions = await this.#descriptionsOf(accountId, unseen);
    // The load would slow down a page from the store, so it starts behind the page.
    if (stored !== undefined && answer.total > 0) this.#loadDirectory(accountId);
    return pageAnswer(answer, accountId, page, summaries, descriptions);
  }

  /** Page of the directory, which is loaded first. */
  async #pageOf(call: EngineCall, page: Command<'list'>): Promise<DirectoryAnswer> {
    const { callId, deadlineAtMs, accountId, traceparent } = call;
    if (page.filter !== undefined || page.sort === 'changed_at') {
      await this.#indexer.ready(accountId);
    }
    const question = { kind: 'page', page, callId, deadlineAtMs } as const;
    const asked = await this.#directories.ask(accountId, traced(question, traceparent));
    const { indexedUntil } = asked;
    const found = asked.searched === undefined ? asked : await asked.searched();
    return { ...found, indexedUntil };
  }

  #loadDirectory(accountId: string): void {
    const { gate } = this.#ports;
    if (isServed(gate, gate.shardOf(accountId))) this.#directories.activateEagerly(accountId);
  }

  async #readFleet(
    { accountId }: EngineCall,
    { types, eventsMax }: Command<'readFleet'>,
  ): Promise<EngineAnswer> {
    await this.#indexer.ready(accountId);
    const counts = await this.#indexer.use(accountId, fleetCounts);
    const parts = this.#indexer.pagesOf(accountId);
    const { position } = counts.until;
    const events = await newestEvents(types, eventsMax, position, parts);
    return fleetAnswer(counts, accountId, events);
  }

  /** Descriptions from the rows that instances store before they are listed. */
  async #descriptionsOf(accountId: string, ids: readonly string[]): Promise<Map<string, string>> {
    const { listings } = this.#ports;
    const rows = await Promise.all(ids.map((id) => listings.find(accountId, id)));
    return new Map(rows.flatMap((row) => (row ? [[row.instanceId, row.description]] : [])));
  }

  async #reserve(call: EngineCall, command: Command<'reservePlace'>): Promise<EngineAnswer> {
    await this.#directories.ask(call.accountId, directoryCall(call, command));
    return NOTIFIED;
  }

  async #notify(
    call: EngineCall,
    command: Command<'putListingRow' | 'removeListingRow'>,
  ): Promise<EngineAnswer> {
    const { gate, log } = this.#ports;
    // The row is stored, so the shard's next owner will load it. Waiting here could deadlock two
    // closing shards that notify each other.
    if (!gate.isClosing(gate.shardOf(call.accountId))) {
      await this.#directories.ask(call.accountId, directoryCall(call, command));
    } else if (!log.isLeased()) await log.whenConfirmed();
    return NOTIFIED;
  }
}

/** Whether this process serves a shard and is not closing it. */
function isServed(gate: ShardGate, shard: number): boolean {
  if (gate.isClosing(shard)) return false;
  try {
    gate.assertOpen(shard);
    return true;
  } catch {
    return false;
  }
}

/** Sends transitions to the feed of an account, on any engine. */
async function recordTransitions(
  engines: EngineClient,
  clock: Clock,
  accountId: string,
  notices: readonly SentNotice[],
): Promise<void> {
  const rows = notices.map(
    ({ actorId, version, atMs, body }): TransitionRow => [
      actorId,
      version,
      atMs,
      // Only `applyEvent` makes notices.
      body as TransitionRow[3],
    ],
  );
  const deadlineAtMs = clock.wallMs() + CALL_TIMEOUT_MS_MAX;
  const command = { kind: 'recordTransitions', rows } as const;
  await engines.ask(unnamedCall({ accountId, instanceId: '', deadlineAtMs, command }));
}
