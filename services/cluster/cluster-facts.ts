import type { Bus, Sender } from '#bus/bus';
import { decodeHeartbeat, heartbeatSubject } from '#cluster/heartbeat';
import type { Clock } from '#platform/clock';
import type { Logger } from '#platform/logger';
import type { ShardedService } from '#storage/ports/cluster';

/** What every process of a cluster must agree on. */
export type ClusterFacts = { readonly cluster: string; readonly shardCount: number };

/** Where the facts are collected from. */
type AgreedFactsOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** First part of all subjects. */
  readonly prefix: string;
  readonly service: ShardedService;
  /** One line for the log when nodes disagree. */
  readonly logger: Logger;
};

/**
 * How long others are waited for after the first was heard, in milliseconds: every node is heard
 * once in a second. Source: decision 93.
 */
const COLLECT_MS = 1_500;

/** Senders that are counted; further ones are not. */
const SENDERS_MAX = 1_024;

/** What one sender said last, by who it is. */
type Words = Map<string, ClusterFacts>;

/**
 * What most nodes of a service say of their cluster, for a process that has no other way to know:
 * what two say while none contradicts, or what most have said 1.5 s after the first. While as many
 * say one thing as another it goes on listening. Pending for as long as no node is heard.
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
    // A majority that one more sender could turn is none.
    if (next?.count !== most.count) resolve(most.facts);
  }

  function reportDisagreement(): void {
    const said = countedFacts(words)
      .map(({ count, facts }) => `${count} say ${facts.shardCount} shards of ${facts.cluster}`)
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

/** Each thing that was said, and by how many; what most say first. */
function countedFacts(words: Words): { readonly facts: ClusterFacts; readonly count: number }[] {
  const said = Map.groupBy(words.values(), (facts) => `${facts.shardCount} ${facts.cluster}`);
  const counted = [...said.values()].flatMap(([facts, ...same]) =>
    facts === undefined ? [] : [{ facts, count: 1 + same.length }],
  );
  return counted.sort((one, other) => other.count - one.count);
}
