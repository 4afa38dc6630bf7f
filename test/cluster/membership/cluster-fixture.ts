import type { Bus } from '#bus/bus';
import { inProcessBus } from '#bus/in-process-bus';
import { encodeHeartbeat, type Heartbeat, heartbeatSubject } from '#cluster/heartbeat';
import type { Dial } from '#cluster/lifelines';
import { Membership } from '#cluster/membership';
import { Fault } from '#errors/fault';
import type { JournalStore } from '#storage/ports/journal';
import { appendOf } from '#test/storage/contracts/journal-fixture';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { FakeLifelines } from '#test/support/fake-lifelines';
import { ManualClock } from '#test/support/manual-clock';

/** What a connection finds: a process that names its incarnation, or silence. */
type Found =
  | { readonly kind: 'answered'; readonly incarnation: string }
  | { readonly kind: 'silent' };

/** Fails like a store without an answer: the outcome is unknown. */
export function silence(): never {
  throw new Fault('service_unavailable', 'no answer', { isOutcomeUnknown: true });
}

/** A simulated cluster: a bus, a clock, journals, and the processes that answer probes. */
export class ClusterWorld {
  readonly clock = new ManualClock();
  readonly bugs: unknown[] = [];
  readonly bus: Bus = inProcessBus({ clock: this.clock, onBug: (e) => this.bugs.push(e) });
  /** Result of a connection by address. An address without an entry refuses connections. */
  readonly found = new Map<string, Found>();
  readonly lifelines = new FakeLifelines();
  /** Addresses of all connections. */
  readonly dialed: string[] = [];
  /** Incarnations whose journal heads were read. */
  readonly heads: string[] = [];
  readonly stored: JournalStore = memoryJournalStore(this.clock);
  /** Incarnations whose journals were sealed, in the order of the requests. */
  readonly seals: string[] = [];
  isStoreDown = false;
  /** Journals whose reads get no answer. */
  readonly unread = new Set<string>();
  /** Duration of a head read, in milliseconds. */
  readMs = 0;
  readonly journals: JournalStore = {
    ...this.stored,
    seal: async (incarnation) => {
      if (this.isStoreDown) silence();
      this.seals.push(incarnation);
      return await this.stored.seal(incarnation);
    },
    readHead: async (incarnation, read) => {
      this.heads.push(incarnation);
      if (this.isStoreDown || this.unread.has(incarnation)) silence();
      if (this.readMs > 0) {
        await new Promise<void>((resolve) => void this.clock.after(this.readMs, resolve));
      }
      return await this.stored.readHead(incarnation, read);
    },
  };
  readonly dial: Dial = async (address) => {
    this.dialed.push(address);
    const found = this.found.get(address);
    if (found?.kind !== 'answered') return { kind: found?.kind ?? 'refused' };
    return this.lifelines.identified(address, found.incarnation);
  };

  /** Ends the process at an address. `next`: the process that then has the address. */
  end(address: string, next?: Found): void {
    this.found.delete(address);
    if (next !== undefined) this.found.set(address, next);
    this.lifelines.end(address);
  }

  /** Membership at the first incarnation of `node`, whose id is `node` with the suffix `-1`. */
  members(node: string, isLeaving = () => false): Membership {
    return new Membership({
      bus: this.bus,
      clock: this.clock,
      cluster: 'c',
      prefix: 'test',
      service: 'engine',
      self: () => ({ ...reportOf(node), isLeaving: isLeaving() }),
      onForeignCluster: () => undefined,
    });
  }

  /** Publishes a heartbeat of an incarnation that need not exist. */
  say(node: string, change: Partial<Heartbeat> = {}): void {
    const rest = { cluster: 'c', service: 'engine', viewHash: '' } as const;
    const heartbeat = { ...reportOf(node), ...rest, ...change };
    this.bus.publish(heartbeatSubject('test', 'engine'), encodeHeartbeat(heartbeat));
    this.clock.advance(0);
  }

  /** Begins the journal of a node's first incarnation; a process answers at the node's address. */
  async begin(node: string): Promise<void> {
    await this.stored.begin(`${node}-1`, `${node}:1`);
    this.found.set(`${node}:1`, { kind: 'answered', incarnation: `${node}-1` });
  }

  /** Appends one group to the journal of a node's first incarnation. */
  async append(node: string): Promise<void> {
    const incarnation = `${node}-1`;
    const head = await this.stored.readHead(incarnation, 'serial');
    const slot = head?.next ?? 0;
    await this.stored.append(appendOf(incarnation, slot, new Uint8Array()));
  }
}

function reportOf(node: string) {
  const names = { node, incarnation: `${node}-1`, address: `${node}:1` };
  return { ...names, startedAtMs: 1, isLeaving: false, shards: [], shardCount: 8 };
}
