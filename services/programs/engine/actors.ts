import { ActorHost, type HostLoad, hostLoad } from '#actor-runtime/actor-host';
import type { CommitLog } from '#actor-runtime/commit-log';
import type { ActorHostConfig, ShardGate } from '#actor-runtime/host-ports';
import { runtimeMetrics } from '#actor-runtime/runtime-metrics';
import { DirectoryKind } from '#engine/directory/kind';
import {
  directoryCall,
  NOTIFIED,
  remoteDirectory,
  summariesAnswer,
} from '#engine/directory/owners';
import {
  type HeadOf,
  pageAnswer,
  readSummaries,
  type SummariesOf,
} from '#engine/directory/summary';
import { awaitedEvents, EventWaiters } from '#engine/events/pages';
import { activeInstanceOf, InstanceKind, storedHeadOf } from '#engine/instance/kind';
import { engineMetrics } from '#engine/instance/process-call';
import type { ChunkBounds } from '#engine/instance/rows';
import type { ActiveInstance } from '#grpc/admin';
import type { EngineAnswer, EngineCall, EngineClient } from '#grpc/engine-messages';
import { MODELS, type Models } from '#identity/model';
import type { InstanceStore } from '#storage/ports/instances';
import type { ListingStore } from '#storage/ports/listings';
import type { Metrics } from '#telemetry/metrics';
import type { ProcessPorts } from '#telemetry/process-ports';
import { traced } from '#telemetry/tracer';

type EngineActorsPorts = ProcessPorts & {
  readonly metrics: Metrics;
  readonly log: CommitLog;
  readonly gate: ShardGate;
  readonly instances: InstanceStore;
  readonly listings: ListingStore;
  /** Undefined: the models of this program. */
  readonly models?: Models | undefined;
  /** Bounds at which rows move from a head to chunks. Undefined: the bounds of the service. */
  readonly chunkBounds?: ChunkBounds | undefined;
  /** All engines, including this one; undefined if this engine is the only one. */
  readonly engines: EngineClient | undefined;
  /** Reads summaries of instances on all engines; undefined if all instances are here. */
  readonly summariesOf: SummariesOf | undefined;
};

type Command<Kind extends EngineCall['command']['kind']> = Extract<
  EngineCall['command'],
  { kind: Kind }
>;

/**
 * Instances and account directories on one journal. Together they answer every call to an engine.
 */
export class EngineActors implements EngineClient, AsyncDisposable {
  readonly #instances;
  readonly #directories;
  readonly #waiters: EventWaiters;
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
    const hostPorts = (actor: 'instance' | 'directory') => {
      const reported = runtimeMetrics(metrics, 'engine', actor);
      return { clock, log, gate, onBug, tracer, metrics: reported };
    };
    const directories = new DirectoryKind(ports.listings, clock);
    this.#directories = new ActorHost(directories, config, hostPorts('directory'));
    const instances = new InstanceKind({
      store: ports.instances,
      chunkBounds: ports.chunkBounds,
      models,
      directory: remoteDirectory(ports.listings, engines, clock),
      metrics: engineMetrics(metrics, clock),
      waiters: this.#waiters,
    });
    this.#instances = new ActorHost(instances, config, {
      ...hostPorts('instance'),
      onLeft: (shard) => this.#waiters.left(shard),
    });
    const storedHead = storedHeadOf(ports.instances, models, onBug);
    this.#headOf = async (id) =>
      (await this.#instances.read(id, ({ head }) => head)) ?? (await storedHead(id));
    this.#summariesOf = ports.summariesOf ?? ((_, ids) => readSummaries(ids, this.#headOf, models));
  }

  /** Actor hosts, for the node that opens and closes shards. */
  get hosts() {
    return [this.#instances, this.#directories];
  }

  /** Memory use of the actors here, and the number of calls so far. */
  get load(): HostLoad & { readonly calls: number } {
    return { ...hostLoad(this.hosts), calls: this.#calls };
  }

  /** Reads an instance in memory, for operators; undefined if it is not in memory. */
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
      case 'reservePlace':
        return this.#reserve(call, command);
      case 'putListingRow':
      case 'removeListingRow':
        return this.#notify(call, command);
      case 'readSummaries':
        return summariesAnswer(command.instanceIds, this.#headOf, this.#models);
      case 'readEvents':
        return this.#readEvents(call, command);
      default:
        return this.#instances.ask(call.instanceId, call);
    }
  }

  /** Refuses new calls, then stores all unstored changes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#instances[Symbol.asyncDispose]();
    await this.#directories[Symbol.asyncDispose]();
  }

  #readEvents(call: EngineCall, command: Command<'readEvents'>) {
    const ask = (id: string, asked: EngineCall) => this.#instances.ask(id, asked);
    if (command.waitMs === 0) return ask(call.instanceId, call);
    const { clock, gate } = this.#ports;
    const shardOf = (id: string) => gate.shardOf(id);
    return awaitedEvents(call, command, { clock, waiters: this.#waiters, shardOf, ask });
  }

  async #list(call: EngineCall, page: Command<'list'>): Promise<EngineAnswer> {
    const { callId, deadlineAtMs, accountId, traceparent } = call;
    const question = { kind: 'page', page, callId, deadlineAtMs } as const;
    const asked = await this.#directories.ask(accountId, traced(question, traceparent));
    const answer = asked.searched === undefined ? asked : await asked.searched();
    const ids = answer.rows.map(({ instanceId }) => instanceId);
    const summaries = await this.#summariesOf(accountId, ids, traceparent);
    const unseen = ids.filter((id) => !summaries.has(id));
    return pageAnswer(answer, page, summaries, await this.#descriptionsOf(accountId, unseen));
  }

  /** Descriptions of instances from the rows that they stored before they were listed. */
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
    // The row is stored, and the shard's next owner loads it. Two shards that close at once and
    // notify each other must not deadlock.
    if (!gate.isClosing(gate.shardOf(call.accountId))) {
      await this.#directories.ask(call.accountId, directoryCall(call, command));
    } else if (!log.isLeased()) await log.whenConfirmed();
    return NOTIFIED;
  }
}
