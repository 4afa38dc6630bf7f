import { inProcessBus } from '#bus/in-process-bus';
import {
  encodeHeartbeat,
  type Heartbeat,
  heartbeatSubject,
  type ShardAnnouncement,
} from '#cluster/heartbeat';
import { Membership, type SelfReport } from '#cluster/membership';
import { ManualClock } from '#test/support/manual-clock';

/** Self-report of `node`, in its first incarnation unless `change` names another. */
export function report(node: string, change: Partial<SelfReport> = {}): SelfReport {
  const incarnation = `${node}-1`;
  const address = `${node}:8100`;
  const rest = { startedAtMs: 1, isLeaving: false, shards: [], shardCount: 8 };
  return { node, incarnation, address, ...rest, ...change };
}

/** A bus and a clock, and processes that join them. */
export function newScene() {
  const clock = new ManualClock();
  const bugs: unknown[] = [];
  const bus = inProcessBus({ clock, onBug: (error) => bugs.push(error) });
  const foreign: (Heartbeat | ShardAnnouncement)[] = [];
  const join = (self: (() => SelfReport) | undefined, cluster = 'c'): Membership =>
    new Membership({
      bus,
      clock,
      cluster,
      prefix: 'test',
      service: 'engine',
      self,
      onForeignCluster: (message) => foreign.push(message),
    });
  /** Publishes a heartbeat of a process that need not exist. */
  const say = (node: string, change: Partial<Heartbeat> = {}): void => {
    const rest = { cluster: 'c', service: 'engine', viewHash: '' } as const;
    const heartbeat = { ...report(node), ...rest, ...change };
    bus.publish(heartbeatSubject('test', 'engine'), encodeHeartbeat(heartbeat));
    clock.advance(0);
  };
  return { clock, bus, bugs, foreign, join, say };
}

/** Incarnations that are present in the view of a process. */
export const presentTo = (members: Membership): string[] =>
  members.present().map(({ incarnation }) => incarnation);
/** Incarnations that a process remembers, sorted by name. */
export const knownTo = (members: Membership): string[] =>
  members
    .known()
    .map(({ incarnation }) => incarnation)
    .sort();
