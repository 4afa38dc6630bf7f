import { CommitLog } from '#actor-runtime/commit-log';
import { AppendSpans } from '#actor-runtime/record-codec';
import { FailureWatch, JournalScan } from '#cluster/failure-watch';
import { Membership, strangerReports } from '#cluster/membership';
import { ShardController } from '#cluster/shard-controller';
import { ShardOwners, shardOf } from '#cluster/shard-owners';
import { Fault } from '#errors/fault';
import { EagerActivation, HostedShards, NodeGate, OpenShards } from '#shards/hosted-shards';
import { JOURNAL_BEAT_MS, LEAVE_MS_MAX, MARK_MS_MAX } from '#shards/journal-bounds';
import { JournalWriter } from '#shards/journal-writer';
import type { HostServices, NodeConfig, NodeContext, NodePorts } from '#shards/node-context';
import { Presence } from '#shards/presence';
import { RecoveredRecords, TailRecovery } from '#shards/tail-recovery';
import { type Clock, every, withinMs } from '#stdlib/clock';
import { bucketsOf } from '#storage/ports/instances';
import type { JournalStore } from '#storage/ports/journal';

type IncarnationParts<Served> = {
  readonly served: Served;
  readonly presence: Presence;
  readonly members: Membership;
  readonly shards: HostedShards;
  readonly controller: ShardController;
  readonly writer: JournalWriter;
  readonly journals: JournalStore;
  readonly log: CommitLog;
  readonly clock: Clock;
  /** Resources that are disposed when the incarnation ends. */
  readonly opened: DisposableStack;
  readonly onBug: (error: unknown) => void;
};

/**
 * One continuous membership of a node: its journal, its entry in the view, its shards and their
 * actors. An incarnation ends when its journal is sealed or its process leaves (architecture 3).
 */
export class Incarnation<Served> {
  readonly id: string;
  readonly served: Served;
  /** Fulfils with the reason when the incarnation is fenced. */
  readonly fenced: Promise<Error>;
  readonly #parts: IncarnationParts<Served>;

  constructor(id: string, parts: IncarnationParts<Served>) {
    this.id = id;
    this.served = parts.served;
    this.#parts = parts;
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.fenced = promise;
    parts.writer.onFenced((why) => {
      this.#end();
      resolve(why);
    });
  }

  /** Epochs of the shards that this incarnation serves, by shard. */
  get shards(): ReadonlyMap<number, number> {
    return this.#parts.shards.open;
  }

  /**
   * Starts handing every shard to other nodes and accepts none from now on. The incarnation does
   * not end. Throws `conflict` when there is no other node to serve the shards.
   */
  drain(): void {
    const { presence, members, controller, onBug } = this.#parts;
    if (presence.isLeaving) return;
    if (members.present().every(({ incarnation }) => incarnation === this.id)) {
      throw new Fault('conflict', 'there is no other node to take its shards');
    }
    presence.leave();
    members.beat();
    controller.leave().catch(onBug);
  }

  /** Gives up every shard, to other nodes or to the stores, and ends the incarnation. */
  async leave(): Promise<void> {
    const { presence, members, controller, journals, log, clock } = this.#parts;
    presence.leave();
    members.beat();
    // After the deadline, new owners recover unstored records from the journal.
    await controller.leave(LEAVE_MS_MAX);
    members.beat();
    // With the low-water mark, new owners skip records that are stored. Without the mark they read
    // these records again, which is harmless.
    await withinMs(clock, MARK_MS_MAX, log.mark()).catch(() => undefined);
    // No append may follow. If the store does not answer, the daily scan seals the journal.
    await journals.seal(this.id).catch(() => undefined);
    this.#end();
  }

  #end(): void {
    this.#parts.shards.end();
    this.#parts.opened.dispose();
  }
}

/** Node settings with the id of one incarnation, and the name and address of its node. */
type IncarnationConfig = Omit<NodeConfig, 'name'> & {
  readonly incarnation: string;
  readonly node: string;
  readonly address: string;
};

/**
 * Builds an incarnation whose journal has begun, and announces the incarnation to the other nodes.
 */
export function buildIncarnation<Served>(
  config: IncarnationConfig,
  ports: NodePorts,
  hostServices: HostServices<Served>,
): Incarnation<Served> {
  using opening = new DisposableStack();
  const { clock, journals, onBug, tracer } = ports;
  const { incarnation: id, address } = config;
  const writer = new JournalWriter(id, {
    store: journals,
    clock,
    onAppended: ports.metrics.appended,
    isOnlyWriter: config.isOnlyWriter,
    refusal: ports.refusal,
    logger: ports.logger,
  });
  const spans = tracer === undefined ? undefined : new AppendSpans(tracer, config.service);
  const log = new CommitLog(writer, clock, spans);
  writer.onFenced((why) => log.end(why));
  const open = new OpenShards();
  const presence = presenceOf(config, ports, open);
  const members = opening.use(membersOf(config, ports, presence));
  const routes = opening.use(new ShardOwners({ members, shardCount: config.shardCount, clock }));
  const recovered = new RecoveredRecords(bucketsOf(config.shardCount));
  const gate = new NodeGate({
    open,
    recovered,
    shardOf: (actorId) => shardOf(actorId, config.shardCount),
    ownerOf: (shard) => routes.ownerOf(shard),
    onNotOwner: ports.metrics.notOwner,
  });
  const isEverywhere = (feature: string): boolean => members.isEverywhere(feature);
  const context: NodeContext = { address, log, gate, routes, isEverywhere };
  const { served, hosts, opened: onOpened, end } = hostServices(context);
  opening.defer(() => {
    // The abandoned actors no longer hold back the low-water mark. If the log continued, it would
    // truncate records that are not stored.
    writer.fence('the incarnation has ended');
    for (const host of hosts) host.abandon();
    end();
  });
  const recovery = recoveryOf(ports, context, members, recovered);
  const eager = new EagerActivation({ hosts, open, recovered, log, clock });
  const hosted = { hosts, open, recovered, recovery, eager, log, clock, onOpened };
  const shards = new HostedShards(hosted);
  opening.use(new JournalScan(id, ports));
  const detector = opening.use(detectorOf(config, ports, members, writer));
  const parts = { members, detector, shards, writer, routes };
  const controller = opening.use(controllerOf(config, ports, parts));
  opening.use(beatOf(config, log, clock));
  const opened = opening.move();
  const built = new Incarnation(id, {
    served,
    presence,
    members,
    shards,
    controller,
    writer,
    journals,
    log,
    clock,
    opened,
    onBug,
  });
  log.beat(0);
  members.beat();
  controller.wake();
  return built;
}

/** Heartbeats in the journal while the node is idle. */
function beatOf(
  { service, isOnlyWriter }: IncarnationConfig,
  log: CommitLog,
  clock: Clock,
): Disposable {
  // No other node watches the only writer of a store, so it writes as rarely as an engine.
  const beatMs = JOURNAL_BEAT_MS[isOnlyWriter ? 'engine' : service];
  return every(clock, beatMs / 4, () => log.beat(beatMs * 0.75));
}

function presenceOf(config: IncarnationConfig, ports: NodePorts, open: OpenShards): Presence {
  const { node, incarnation, address, shardCount, release, features } = config;
  const facts = {
    node,
    incarnation,
    address,
    startedAtMs: ports.clock.wallMs(),
    shardCount,
    release,
    features,
  };
  return new Presence(facts, open, ports.clocks);
}

function membersOf(config: IncarnationConfig, ports: NodePorts, presence: Presence): Membership {
  const { bus, clock, journals, logger } = ports;
  return new Membership({
    bus,
    clock,
    journals,
    cluster: config.cluster,
    prefix: config.prefix,
    service: config.service,
    self: () => presence.report(),
    ...strangerReports(logger),
  });
}

function recoveryOf(
  { journals, clock, metrics, logger, tracer }: NodePorts,
  { log, gate }: NodeContext,
  members: Membership,
  recovered: RecoveredRecords,
): TailRecovery {
  return new TailRecovery({
    log,
    journals,
    recovered,
    clock,
    tracer,
    shardOf: (actorId) => gate.shardOf(actorId),
    onTailRecovered: (records, from) => {
      metrics.tailRecovered(records);
      const fromNode = members.nodeOf(from);
      logger.info({ fromNode, fromIncarnation: from, records }, 'take-over: records are copied');
    },
    onTakenOver: metrics.takenOver,
  });
}

function detectorOf(
  config: IncarnationConfig,
  { bus, clock, journals, dial, metrics, logger, onBug }: NodePorts,
  members: Membership,
  writer: JournalWriter,
): FailureWatch {
  const { service, prefix, incarnation, node, address, isDirect, isOnlyWriter } = config;
  return new FailureWatch(
    { service, prefix, incarnation, node, address, isDirect, isOnlyWriter },
    {
      bus,
      clock,
      journals,
      members,
      dial,
      takeSlowestAppendMs: () => writer.takeSlowestMs(),
      onSealed: (reason, other) => {
        metrics.sealed(reason, other);
        const otherNode = members.nodeOf(other);
        logger.warn(
          { otherNode, otherIncarnation: other, reason },
          'the journal of a failed node is sealed',
        );
      },
      onBug,
    },
  );
}

/** Dependencies of the shard controller. */
type ControllerParts = {
  readonly members: Membership;
  readonly detector: FailureWatch;
  readonly shards: HostedShards;
  readonly writer: JournalWriter;
  readonly routes: ShardOwners;
};

function controllerOf(
  config: IncarnationConfig,
  { bus, clock, shards, journals, metrics, logger, onBug }: NodePorts,
  parts: ControllerParts,
): ShardController {
  const { service, shardCount, incarnation, node, startupGraceMs } = config;
  return new ShardController(
    { service, shardCount, incarnation, node, startupGraceMs },
    {
      clock,
      shards: parts.routes.checkedBy(shards),
      journals,
      members: parts.members,
      detector: parts.detector,
      host: parts.shards,
      fence: (why) => parts.writer.fence(why),
      isConnected: () => bus.hearsNodes ?? bus.isConnected,
      onMoved: metrics.moved,
      onTakenOver: ({ from, shards: count, seconds }) => {
        const fromNode = parts.members.nodeOf(from);
        const taken = { fromNode, fromIncarnation: from, shards: count, seconds };
        logger.info(taken, 'take-over: finished, the shards are served here');
      },
      onBug,
    },
  );
}
