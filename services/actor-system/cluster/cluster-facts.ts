import type { Bus, Sender } from '#bus/bus';
import { decodeHeartbeat, heartbeatSubject } from '#cluster/heartbeat';
import type { Clock } from '#stdlib/clock';
import type { ShardedService } from '#storage/ports/cluster';
import type { Logger } from '#telemetry/logger';

/** Settings on which all processes of a cluster must agree. */
export type ClusterFacts = { readonly cluster: string; readonly shardCount: number };

/** Options of `agreedFacts`. */
type AgreedFactsOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Prefix of all subjects. */
  readonly prefix: string;
  readonly service: ShardedService;
  /** Logs one line when nodes disagree. */
  readonly logger: Logger;
};

/**
 * Time to collect heartbeats after the first heartbeat, in milliseconds. Every node sends a
 * heartbeat each second. Source: decision 93.
 */
const COLLECT_MS = 1_500;

/** Maximum number of senders counted. Further senders are ignored. */
const SENDERS_MAX = 1_024;

/** Last facts of each sender, by incarnation. */
type Words = Map<string, ClusterFacts>;

/**
 * Majority vote on the cluster's facts, based on the heartbeats of one service. Used by processes
 * without database access.
 *
 * `facts` fulfils when two nodes agree and none contradicts, or with the majority 1.5 s after the
 * first heartbeat. On a tie, the vote continues. While no node is heard, `facts` stays pending.
 */
export function agreedFacts(options: AgreedFactsOptions): Disposable & {
  readonly facts: Promise<ClusterFacts>;
} {
  const { bus, clock, prefix, service, logger } = options;
  const { promise, resolve } = Promise.withResolvers<ClusterFacts>();
  const opened = new DisposableStack();
  const words: Words = new Map();
  let endMs: number | undefined;
  let reported = '';

  function decide(): void {
    const [most, next] = countedFacts(words);
    if (most === undefined || endMs === undefined || opened.disposed) return;
    const isOver = clock.monotonicMs() >= endMs;
    if (!isOver && (most.count < 2 || next !== undefined)) return;
    if (next !== undefined) reportDisagreement();
    // On a tie there is no majority: wait for more senders.
    if (next?.count !== most.count) resolve(most.facts);
  }

  function reportDisagreement(): void {
    const said = countedFacts(words)
      .map(({ count, facts }) => `${count} report ${facts.shardCount} shards of ${facts.cluster}`)
      .join(', ');
    if (said === reported) return;
    reported = said;
    logger.error({ service, said }, 'the nodes of a service disagree about their cluster');
  }

  function hear(message: Uint8Array, sender?: Sender): void {
    const heartbeat = decodeHeartbeat(message);
    if (heartbeat?.service !== service) return;
    const { cluster, shardCount, incarnation } = heartbeat;
    const by = sender?.incarnation ?? incarnation;
    if (!words.has(by) && words.size >= SENDERS_MAX) return;
    words.set(by, { cluster, shardCount });
    if (endMs === undefined) {
      endMs = clock.monotonicMs() + COLLECT_MS;
      opened.use(clock.after(COLLECT_MS, decide));
    }
    decide();
  }

  opened.use(bus.subscribe(heartbeatSubject(prefix, service), hear));
  return { facts: promise, [Symbol.dispose]: () => opened.dispose() };
}

/** Distinct facts with the number of their senders, most frequent first. */
function countedFacts(words: Words): { readonly facts: ClusterFacts; readonly count: number }[] {
  const said = Map.groupBy(words.values(), (facts) => `${facts.shardCount} ${facts.cluster}`);
  const counted = [...said.values()].flatMap(([facts, ...same]) =>
    facts === undefined ? [] : [{ facts, count: 1 + same.length }],
  );
  return counted.sort((one, other) => other.count - one.count);
}
