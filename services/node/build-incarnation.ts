import { FailureWatch } from '#cluster/failure-watch';
import { JournalScan } from '#cluster/journal-scan';
import { Membership } from '#cluster/membership';
import { strangerReports } from '#cluster/membership-options';
import { ShardController } from '#cluster/shard-controller';
import { shardOf } from '#cluster/shard-of';
import { ShardOwners } from '#cluster/shard-owners';
import { JOURNAL_BEAT_MS } from '#node/bounds';
import { EagerActivation } from '#node/eager-activation';
import { HostedShards } from '#node/hosted-shards';
import { Incarnation } from '#node/incarnation';
import { JournalWriter } from '#node/journal-writer';
import type { HostServices, NodeConfig, NodeContext, NodePorts } from '#node/node-context';
import { NodeGate } from '#node/node-gate';
import { OpenShards } from '#node/open-shards';
import { Presence } from '#node/presence';
import { RecoveredRecords } from '#node/recovered-records';
import { TailRecovery } from '#node/tail-recovery';
import { every } from '#platform/clock';
import { AppendSpans } from '#runtime/append-spans';
import { CommitLog } from '#runtime/commit-log';
import { bucketsOf } from '#storage/bucket-of';

/** Which incarnation is built: its id, and the name and address of its node. */
type IncarnationConfig = Omit<NodeConfig, 'name'> & {
  readonly incarnation: string;
  readonly node: string;
  readonly address: string;
};

/** Builds an incarnation whose journal has begun, and makes it known. */
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
  const context: NodeContext = { address, log, gate, routes };
  const { served, hosts, end } = hostServices(context);
  opening.defer(() => {
    // A log that went on would truncate what the actors do not hold on to any more.
    writer.fence('the incarnation has ended');
    for (const host of hosts) host.abandon();
    end();
  });
  const recovery = recoveryOf(ports, context, members, recovered);
  const eager = new EagerActivation({ hosts, open, recovered, log, clock });
  const shards = new HostedShards({ hosts, open, recovered, recovery, eager, log, clock });
  opening.use(new JournalScan(id, ports));
  const detector = opening.use(detectorOf(config, ports, members, writer));
  const parts = { members, detector, shards, writer, routes };
  const controller = opening.use(controllerOf(config, ports, parts));
  opening.use(every(clock, JOURNAL_BEAT_MS / 4, () => log.beat(JOURNAL_BEAT_MS * 0.75)));
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

function presenceOf(config: IncarnationConfig, ports: NodePorts, open: OpenShards): Presence {
  const { node, incarnation, address, shardCount, release } = config;
  const facts = {
    node,
    incarnation,
    address,
    startedAtMs: ports.clock.wallMs(),
    shardCount,
    release,
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
  { bus, clock, journals, probe, metrics, logger, onBug }: NodePorts,
  members: Membership,
  writer: JournalWriter,
): FailureWatch {
  const { service, prefix, incarnation, node, address, isDirect } = config;
  return new FailureWatch(
    { service, prefix, incarnation, node, address, isDirect },
    {
      bus,
      clock,
      journals,
      members,
      probe,
      takeSlowestAppendMs: () => writer.takeSlowestMs(),
      onSealed: (reason, other) => {
        metrics.sealed(reason);
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

/** What a controller of shards works with. */
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
      isConnected: () => bus.isConnected,
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
