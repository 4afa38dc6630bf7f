import { strict as assert } from 'node:assert';
import type { Bus, Sender } from '#bus/bus';
import { senderMarkOf } from '#bus/sender-key';
import {
  announcementSubject,
  decodeAnnouncement,
  decodeHeartbeat,
  encodeAnnouncement,
  encodeHeartbeat,
  type Heartbeat,
  heartbeatSubject,
  type ShardAnnouncement,
} from '#cluster/heartbeat';
import { JournalPresence } from '#cluster/journal-presence';
import { type Clock, every } from '#platform/clock';
import { hashText } from '#platform/hash';
import { LogRateLimit } from '#platform/log-limits';
import type { Logger } from '#platform/logger';
import type { ShardedService } from '#storage/ports/cluster';
import type { JournalStore } from '#storage/ports/journal';

/** One incarnation, as it was last heard. */
export type Member = Heartbeat & {
  /** When it was last heard, by this process's monotonic clock; now for the process itself. */
  readonly heardMs: number;
};

/** Source: architecture 3, as are the 3 s: two heartbeats may be lost. */
const HEARTBEAT_PERIOD_MS = 1_000;
const PRESENT_MS = 3_000;

/** How long a silent incarnation is remembered, in milliseconds: longer than any examination. */
const KNOWN_MS = 60_000;

/** Incarnations heard within that time; a fleet of 500 that restarts several times. */
const KNOWN_MAX = 4_096;

const NO_SHARDS: Heartbeat['shards'] = [];

/** Incarnations proven dead that are remembered, the oldest forgotten first: years of restarts. */
const FORGOTTEN_MAX = 10_000;

/**
 * One process's view of the processes of one service: who is alive and, by that, who should own
 * what. Views may differ and nothing here is authority (architecture 3).
 */
export class Membership implements Disposable {
  readonly #options: MembershipOptions;
  readonly #heard = new Map<string, Member>();
  /** Incarnations proven dead, with the names of their nodes where heartbeats gave them. */
  readonly #forgotten = new Map<string, string | undefined>();
  readonly #changeListeners = new Listeners<[]>();
  readonly #heartbeatListeners = new Listeners<[Heartbeat]>();
  readonly #announcementListeners = new Listeners<[ShardAnnouncement]>();
  readonly #opened = new DisposableStack();
  readonly #journals: JournalPresence | undefined;
  readonly #reports: Readonly<Record<'foreign' | 'impostor', LogRateLimit>>;
  #notifiedViewHash = '';
  #ignoredCount = 0;

  /** Listens at once; the first heartbeat comes after a second, or with `beat`. */
  constructor(options: MembershipOptions) {
    this.#options = options;
    const { bus, clock, prefix, service, journals } = options;
    const onFound = (): void => this.#notifyChange();
    this.#journals = journals && new JournalPresence({ journals, clock, onFound });
    this.#reports = { foreign: new LogRateLimit(clock), impostor: new LogRateLimit(clock) };
    const hear = (message: Uint8Array, sender?: Sender): void =>
      this.#receiveHeartbeat(message, sender?.incarnation);
    const hearShard = (message: Uint8Array): void => this.#receiveAnnouncement(message);
    this.#opened.use(bus.subscribe(heartbeatSubject(prefix, service), hear));
    // Whose shards are kept have said them all; who keeps them may not be let hear announcements.
    if (options.keepsShards !== true) {
      this.#opened.use(bus.subscribe(announcementSubject(prefix, service), hearShard));
    }
    this.#opened.use(every(clock, HEARTBEAT_PERIOD_MS, () => this.beat()));
  }

  /** Messages that were not believed: garbage, foreign, of another service or of a dead node. */
  get ignoredCount(): number {
    return this.#ignoredCount;
  }

  /**
   * Heard within 3 s and neither leaving nor aside, this process included; of several incarnations
   * of one node the one that started last. Of others only those whose journals have been seen,
   * where there are journals. In the order of the nodes' names.
   */
  present(): readonly Member[] {
    const newest = new Map<string, Member>();
    const sinceMs = this.#options.clock.monotonicMs() - PRESENT_MS;
    for (const member of this.known()) {
      if (member.heardMs < sinceMs || !this.#isNode(member)) continue;
      const rival = newest.get(member.node);
      if (rival === undefined || isLater(member, rival)) newest.set(member.node, member);
    }
    // A leaving incarnation hides the earlier ones of its node: they must not come back in its
    // place.
    const staying = [...newest.values()].filter((member) => !member.isLeaving && !member.isAside);
    return staying.sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  /** Every incarnation heard within 60 s, leaving or silent too, but none that is proven dead. */
  known(): readonly Member[] {
    const sinceMs = this.#options.clock.monotonicMs() - KNOWN_MS;
    const others = [...this.#heard.values()].filter(({ heardMs }) => heardMs >= sinceMs);
    const self = this.#self();
    return self === undefined ? others : [self, ...others];
  }

  /** Every incarnation heard within 3 s, leaving ones too, but none that is proven dead. */
  heard(): readonly Member[] {
    const sinceMs = this.#options.clock.monotonicMs() - PRESENT_MS;
    return this.known().filter(({ heardMs }) => heardMs >= sinceMs);
  }

  /** Names the present incarnations; equal for equal views. */
  get viewHash(): string {
    const names = this.present().map(({ node, incarnation }) => `${node} ${incarnation}`);
    return hashText(names.join('\n')).toString(16).padStart(8, '0');
  }

  /** Takes an incarnation that is proven dead out of the view; nothing it says is believed again. */
  forget(incarnation: string): void {
    this.#forgotten.set(incarnation, this.nodeOf(incarnation));
    const [oldest] = this.#forgotten.keys();
    if (this.#forgotten.size > FORGOTTEN_MAX && oldest !== undefined) {
      this.#forgotten.delete(oldest);
    }
    this.#drop(incarnation);
    this.#notifyChange();
  }

  /** Name of the node of an incarnation, also after its death; undefined if it was never heard. */
  nodeOf(incarnation: string): string | undefined {
    return this.#heard.get(incarnation)?.node ?? this.#forgotten.get(incarnation);
  }

  /** Sends a heartbeat now, besides those of every second, and drops nodes that have become silent. */
  beat(): void {
    this.#dropSilent();
    const self = this.#self();
    if (self !== undefined) {
      const { heardMs: _, ...heartbeat } = { ...self, viewHash: this.viewHash };
      const { bus, prefix, service } = this.#options;
      bus.publish(heartbeatSubject(prefix, service), encodeHeartbeat(heartbeat));
      this.#heartbeatListeners.notify(heartbeat);
    }
    this.#notifyChange();
  }

  /** Announces that this process owns a shard since `epoch`; see `announceFor`. */
  announce(shard: number, epoch: number): void {
    const self = this.#self();
    assert(self !== undefined, 'a process that only watches owns nothing');
    this.announceFor(self, { shard, epoch });
  }

  /**
   * Announces the owner of a shard since `epoch`, as the table names it. This process's own
   * listeners hear it a turn later, and perhaps once more over the bus.
   */
  announceFor(
    { incarnation, address }: Pick<Member, 'incarnation' | 'address'>,
    { shard, epoch }: { readonly shard: number; readonly epoch: number },
  ): void {
    const { bus, clock, cluster, prefix, service } = this.#options;
    const announcement = { cluster, service, shard, epoch, incarnation, address };
    bus.publish(announcementSubject(prefix, service), encodeAnnouncement(announcement));
    // Not by way of the bus, which may be away.
    clock.after(0, () => this.#announcementListeners.notify(announcement));
  }

  /** Hears that `present` has changed. Silence is noticed within a second. */
  onChange(listener: () => void): Disposable {
    return this.#changeListeners.add(listener);
  }

  /** Hears every heartbeat that is believed, those of this process included. */
  onHeartbeat(listener: (heartbeat: Heartbeat) => void): Disposable {
    return this.#heartbeatListeners.add(listener);
  }

  /** Hears every announcement, those of this process included; they may be late, doubled or lost. */
  onAnnouncement(listener: (announcement: ShardAnnouncement) => void): Disposable {
    return this.#announcementListeners.add(listener);
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
    this.#changeListeners.clear();
    this.#heartbeatListeners.clear();
    this.#announcementListeners.clear();
  }

  /** As the others hear it, but for the view, of which it is a part itself. */
  #self(): Member | undefined {
    const { self, clock, cluster, service } = this.#options;
    if (self === undefined) return undefined;
    const heardMs = clock.monotonicMs();
    return { ...self(), cluster, service, viewHash: this.#notifiedViewHash, heardMs };
  }

  #receiveHeartbeat(message: Uint8Array, speaker: string | undefined): void {
    const heartbeat = decodeHeartbeat(message);
    if (heartbeat === undefined || !this.#isBelieved(heartbeat)) this.#ignore(heartbeat);
    else if (this.#isForged(heartbeat, speaker)) this.#ignoreImpostor(heartbeat);
    else if (heartbeat.incarnation !== this.#options.self?.().incarnation) {
      this.#hear(heartbeat, speaker);
    }
  }

  /** A process opens one bus for all its life, and its incarnations bear the mark of it. */
  #isForged({ incarnation }: Heartbeat, speaker: string | undefined): boolean {
    return speaker !== undefined && !incarnation.startsWith(senderMarkOf(speaker));
  }

  /** A process that only claims to be a node hides none and owns nothing. */
  #isNode(member: Member): boolean {
    if (this.#journals === undefined || this.#hasJournal(member)) return true;
    return member.incarnation === this.#options.self?.().incarnation;
  }

  #hasJournal({ incarnation }: Member): boolean {
    return this.#journals?.hasFound(incarnation) === true;
  }

  #receiveAnnouncement(message: Uint8Array): void {
    const announcement = decodeAnnouncement(message);
    if (announcement === undefined || !this.#isBelieved(announcement)) this.#ignore(announcement);
    else this.#announcementListeners.notify(announcement);
  }

  #hear(heartbeat: Heartbeat, speaker: string | undefined): void {
    const { incarnation } = heartbeat;
    const before = this.#heard.get(incarnation);
    if (before === undefined && this.#heard.size >= KNOWN_MAX) this.#dropLongestSilent();
    // A leaving node stays leaving where an older heartbeat may come later. Where senders are
    // numbered none does, and the last one counts: a forged one lasts until the next
    // (decision 135).
    const staysLeaving = speaker === undefined && before?.isLeaving === true;
    const isLeaving = heartbeat.isLeaving || staysLeaving;
    const heardMs = this.#options.clock.monotonicMs();
    // In the order in which they were heard last.
    this.#heard.delete(incarnation);
    const shards = this.#options.keepsShards === true ? heartbeat.shards : NO_SHARDS;
    this.#heard.set(incarnation, { ...heartbeat, shards, isLeaving, heardMs });
    this.#journals?.look(heartbeat);
    this.#heartbeatListeners.notify(heartbeat);
    const wasPresent = before !== undefined && before.heardMs >= heardMs - PRESENT_MS;
    const isSame = before?.isLeaving === isLeaving && before.isAside === heartbeat.isAside;
    if (!wasPresent || !isSame) this.#notifyChange();
  }

  #isBelieved({ cluster, service, incarnation }: Heartbeat | ShardAnnouncement): boolean {
    if (cluster !== this.#options.cluster || service !== this.#options.service) return false;
    return !this.#forgotten.has(incarnation);
  }

  /** `message` is undefined when it could not be read. */
  #ignore(message: Heartbeat | ShardAnnouncement | undefined): void {
    this.#ignoredCount += 1;
    if (message === undefined || message.cluster === this.#options.cluster) return;
    this.#reports.foreign.run(() => this.#options.onForeignCluster(message));
  }

  #ignoreImpostor(forged: Heartbeat): void {
    this.#ignoredCount += 1;
    this.#reports.impostor.run(() => this.#options.onImpostor?.(forged));
  }

  #dropSilent(): void {
    const sinceMs = this.#options.clock.monotonicMs() - KNOWN_MS;
    for (const [incarnation, { heardMs }] of this.#heard) {
      if (heardMs < sinceMs) this.#drop(incarnation);
    }
  }

  /** Names cost nothing who knows the secret: those that are nodes for certain go last. */
  #dropLongestSilent(): void {
    const silent = [...this.#heard.values()];
    const longest = silent.find((member) => !this.#hasJournal(member)) ?? silent[0];
    if (longest !== undefined) this.#drop(longest.incarnation);
  }

  #drop(incarnation: string): void {
    this.#heard.delete(incarnation);
    this.#journals?.forget(incarnation);
  }

  #notifyChange(): void {
    const { viewHash } = this;
    if (viewHash === this.#notifiedViewHash) return;
    this.#notifiedViewHash = viewHash;
    this.#changeListeners.notify();
  }
}

/** Of two incarnations of one node, whether the first is the later one. */
function isLater(one: Member, other: Member): boolean {
  if (one.startedAtMs !== other.startedAtMs) return one.startedAtMs > other.startedAtMs;
  return one.incarnation > other.incarnation;
}

/** What a process reports of itself; the rest of its heartbeat is known here. */
export type SelfReport = Omit<Heartbeat, 'cluster' | 'service' | 'viewHash'>;

/** The process that has the view, and what it is a view of. */
type MembershipOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Id of the cluster; what comes from another one is not believed. */
  readonly cluster: string;
  /** First part of all subjects. */
  readonly prefix: string;
  readonly service: ShardedService;
  /** Undefined: this process watches the service and is none of it. */
  readonly self: (() => SelfReport) | undefined;
  /** Where every node has a journal: others are not present (decision 179). Undefined: not known here. */
  readonly journals?: Pick<JournalStore, 'readHead'> | undefined;
  /** Whether the shards that members serve are kept: for who looks on, and hears heartbeats alone. */
  readonly keepsShards?: boolean;
  /** Called at most once in 30 s when another cluster uses the same prefix. */
  readonly onForeignCluster: (stranger: Heartbeat | ShardAnnouncement) => void;
  /** Called at most once in 30 s when a process sends a heartbeat for an incarnation of another. */
  readonly onImpostor?: (forged: Heartbeat) => void;
};

/** Log lines about heartbeats that are not believed. */
export function strangerReports(
  logger: Logger,
): Required<Pick<MembershipOptions, 'onForeignCluster' | 'onImpostor'>> {
  return {
    onForeignCluster: ({ cluster }) =>
      logger.error(
        { cluster },
        'another cluster speaks under the same NATS subjects and is ignored: give one of them another SERVICE_NATS_PREFIX',
      ),
    onImpostor: ({ incarnation, node }) =>
      logger.error(
        { otherIncarnation: incarnation, otherNode: node },
        'a process speaks for another one and is ignored there: one that knows SERVICE_CLUSTER_SECRET is wrong or of another cluster',
      ),
  };
}

/** Functions that are called when something happens, until they are disposed. */
export class Listeners<Arguments extends readonly unknown[]> {
  readonly #listeners = new Set<(...args: Arguments) => void>();

  /** Adds a listener until disposed. */
  add(listener: (...args: Arguments) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Calls every listener, in the order in which they were added. */
  notify(...args: Arguments): void {
    for (const listener of this.#listeners) listener(...args);
  }

  /** Drops every listener. */
  clear(): void {
    this.#listeners.clear();
  }
}
