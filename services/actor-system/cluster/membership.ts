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
import { type Clock, every } from '#stdlib/clock';
import { hashText } from '#stdlib/hash-map';
import type { ShardedService } from '#storage/ports/cluster';
import type { JournalStore } from '#storage/ports/journal';
import { LogRateLimit } from '#telemetry/log-limits';
import type { Logger } from '#telemetry/logger';

/** Last heartbeat of one incarnation. */
export type Member = Heartbeat & {
  /** Monotonic time of the last heartbeat. For this process itself: now. */
  readonly heardMs: number;
};

/** Period of heartbeats, in milliseconds (architecture 3). */
const HEARTBEAT_PERIOD_MS = 1_000;

/** Time without a heartbeat after which a node is absent: two lost heartbeats (architecture 3). */
const PRESENT_MS = 3_000;

/**
 * Time for which a silent incarnation is remembered, in milliseconds. Longer than any examination
 * by the failure detector.
 */
const KNOWN_MS = 60_000;

/**
 * Maximum number of incarnations remembered for `KNOWN_MS`. Enough for a fleet of 500 that restarts
 * several times.
 */
const KNOWN_MAX = 4_096;

/**
 * Time after the last heartbeat without a feature until the feature counts as present everywhere.
 * Longer than the pause before Kubernetes restarts a crashing pod, which may lack the feature.
 */
const FEATURE_QUIET_MS = 600_000;

const NO_SHARDS: Heartbeat['shards'] = [];

/**
 * Maximum number of dead incarnations remembered, oldest evicted first. Enough for years of
 * restarts.
 */
const FORGOTTEN_MAX = 10_000;

/**
 * One process's view of a service: which nodes are present, and which shards each node should
 * therefore own. Views of different processes may differ. No view has authority over ownership
 * (architecture 3).
 */
export class Membership implements Disposable {
  readonly #options: MembershipOptions;
  readonly #heard = new Map<string, Member>();
  /** Dead incarnations, with the names of their nodes if heartbeats contained them. */
  readonly #forgotten = new Map<string, string | undefined>();
  /** Time of the last heartbeat of a node that lacked a feature of this process, by feature. */
  readonly #lackedMs = new Map<string, number>();
  readonly #changeListeners = new Listeners<[]>();
  readonly #heartbeatListeners = new Listeners<[Heartbeat]>();
  readonly #announcementListeners = new Listeners<[ShardAnnouncement]>();
  readonly #opened = new DisposableStack();
  readonly #journals: JournalPresence | undefined;
  readonly #reports: Readonly<Record<'foreign' | 'impostor', LogRateLimit>>;
  #notifiedViewHash = '';
  #ignoredCount = 0;

  /** Subscribes immediately. The first heartbeat is sent after a second, or by `beat`. */
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
    // Heartbeats list all shards, so a process that keeps the lists needs no announcements. Its bus
    // account may even lack the permission to receive announcements.
    if (options.keepsShards !== true) {
      this.#opened.use(bus.subscribe(announcementSubject(prefix, service), hearShard));
    }
    this.#opened.use(every(clock, HEARTBEAT_PERIOD_MS, () => this.beat()));
  }

  /**
   * Number of ignored messages: unreadable, from another cluster or service, forged, or from a dead
   * node.
   */
  get ignoredCount(): number {
    return this.#ignoredCount;
  }

  /**
   * Members heard within 3 s that are neither leaving nor aside, including this process, sorted by
   * node name. If a node has several incarnations, only the incarnation that started last is
   * included. If the membership checks journals, other members are included only after their
   * journals were found.
   */
  present(): readonly Member[] {
    const newest = new Map<string, Member>();
    const sinceMs = this.#options.clock.monotonicMs() - PRESENT_MS;
    for (const member of this.known()) {
      if (member.heardMs < sinceMs || !this.#isNode(member)) continue;
      const rival = newest.get(member.node);
      if (rival === undefined || isLater(member, rival)) newest.set(member.node, member);
    }
    // Filter after choosing the newest: a leaving incarnation must not be replaced by an earlier
    // incarnation of its node.
    const staying = [...newest.values()].filter((member) => !member.isLeaving && !member.isAside);
    return staying.sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  /**
   * Incarnations heard within 60 s, including leaving and silent incarnations. Incarnations that
   * are proven dead are excluded.
   */
  known(): readonly Member[] {
    const sinceMs = this.#options.clock.monotonicMs() - KNOWN_MS;
    const others = [...this.#heard.values()].filter(({ heardMs }) => heardMs >= sinceMs);
    const self = this.#self();
    return self === undefined ? others : [self, ...others];
  }

  /**
   * Incarnations heard within 3 s, including leaving incarnations. Incarnations that are proven
   * dead are excluded.
   */
  heard(): readonly Member[] {
    const sinceMs = this.#options.clock.monotonicMs() - PRESENT_MS;
    return this.known().filter(({ heardMs }) => heardMs >= sinceMs);
  }

  /**
   * Whether every node has a feature of this process: for ten minutes no heartbeat lacked the
   * feature. A node that is dead or silent may return, so its last heartbeat counts too.
   */
  isEverywhere(feature: string): boolean {
    const lackedMs = this.#lackedMs.get(feature) ?? Number.NEGATIVE_INFINITY;
    return this.#options.clock.monotonicMs() - lackedMs > FEATURE_QUIET_MS;
  }

  /** Hash of the present incarnations. Equal for equal views. */
  get viewHash(): string {
    const names = this.present().map(({ node, incarnation }) => `${node} ${incarnation}`);
    return hashText(names.join('\n')).toString(16).padStart(8, '0');
  }

  /** Removes an incarnation that is proven dead, and ignores its messages from now on. */
  forget(incarnation: string): void {
    this.#forgotten.set(incarnation, this.nodeOf(incarnation));
    const [oldest] = this.#forgotten.keys();
    if (this.#forgotten.size > FORGOTTEN_MAX && oldest !== undefined) {
      this.#forgotten.delete(oldest);
    }
    this.#drop(incarnation);
    this.#notifyChange();
  }

  /**
   * Node name of an incarnation, also after its death. Undefined if the incarnation was never
   * heard.
   */
  nodeOf(incarnation: string): string | undefined {
    return this.#heard.get(incarnation)?.node ?? this.#forgotten.get(incarnation);
  }

  /** Sends a heartbeat now, in addition to the periodic heartbeats, and drops silent nodes. */
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
    assert(self !== undefined, 'a process that only watches a service owns no shard');
    this.announceFor(self, { shard, epoch });
  }

  /**
   * Announces that the shard table names an owner of a shard since `epoch`. Listeners of this
   * process are notified in a later turn, and possibly again by the bus.
   */
  announceFor(
    { incarnation, address }: Pick<Member, 'incarnation' | 'address'>,
    { shard, epoch }: { readonly shard: number; readonly epoch: number },
  ): void {
    const { bus, clock, cluster, prefix, service } = this.#options;
    const announcement = { cluster, service, shard, epoch, incarnation, address };
    bus.publish(announcementSubject(prefix, service), encodeAnnouncement(announcement));
    // Notify locally too, because the bus may be unavailable.
    clock.after(0, () => this.#announcementListeners.notify(announcement));
  }

  /**
   * Registers a listener for changes of `present`. A node that falls silent is detected within a
   * second.
   */
  onChange(listener: () => void): Disposable {
    return this.#changeListeners.add(listener);
  }

  /** Registers a listener for accepted heartbeats, including this process's own. */
  onHeartbeat(listener: (heartbeat: Heartbeat) => void): Disposable {
    return this.#heartbeatListeners.add(listener);
  }

  /**
   * Registers a listener for announcements, including this process's own. Announcements may be
   * late, duplicated or lost.
   */
  onAnnouncement(listener: (announcement: ShardAnnouncement) => void): Disposable {
    return this.#announcementListeners.add(listener);
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
    this.#changeListeners.clear();
    this.#heartbeatListeners.clear();
    this.#announcementListeners.clear();
  }

  /** Member entry of this process, with the view hash of the last notification to listeners. */
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
    else {
      const self = this.#options.self?.();
      if (heartbeat.incarnation !== self?.incarnation)
        this.#hear(heartbeat, speaker, self?.features);
    }
  }

  /**
   * Whether a heartbeat names an incarnation that is not its sender's. A process opens one bus for
   * its lifetime, and its incarnation ids begin with the sender mark of that bus.
   */
  #isForged({ incarnation }: Heartbeat, speaker: string | undefined): boolean {
    return speaker !== undefined && !incarnation.startsWith(senderMarkOf(speaker));
  }

  /**
   * Whether a member is a node. A process without a journal only claims to be a node: it owns
   * nothing and must not hide another member.
   */
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

  #hear(
    heartbeat: Heartbeat,
    speaker: string | undefined,
    ownFeatures: readonly string[] = [],
  ): void {
    const { incarnation } = heartbeat;
    const before = this.#heard.get(incarnation);
    if (before === undefined && this.#heard.size >= KNOWN_MAX) this.#dropLongestSilent();
    // Without numbered senders, an older heartbeat may arrive later, so a leaving node stays
    // leaving. With numbered senders the last heartbeat counts, and a forged heartbeat is replaced
    // by the next genuine heartbeat (decision 135).
    const staysLeaving = speaker === undefined && before?.isLeaving === true;
    const isLeaving = heartbeat.isLeaving || staysLeaving;
    const heardMs = this.#options.clock.monotonicMs();
    // Reinsert, so that the map is ordered by the last heartbeat.
    this.#heard.delete(incarnation);
    const shards = this.#options.keepsShards === true ? heartbeat.shards : NO_SHARDS;
    this.#heard.set(incarnation, { ...heartbeat, shards, isLeaving, heardMs });
    for (const feature of ownFeatures) {
      if (heartbeat.features?.includes(feature) !== true) this.#lackedMs.set(feature, heardMs);
    }
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

  /** `message` is undefined if it could not be decoded. */
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

  /**
   * Evicts the member that has been silent for longest, members without a journal first. Anyone
   * with the cluster secret can invent names, so members that are certainly nodes are evicted last.
   */
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

/** Whether `one` started later than `other`, another incarnation of the same node. */
function isLater(one: Member, other: Member): boolean {
  if (one.startedAtMs !== other.startedAtMs) return one.startedAtMs > other.startedAtMs;
  return one.incarnation > other.incarnation;
}

/** Fields of the heartbeat that the process itself supplies. */
export type SelfReport = Omit<Heartbeat, 'cluster' | 'service' | 'viewHash'>;

/** Options of a membership view. */
type MembershipOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Id of the cluster. Messages of other clusters are ignored. */
  readonly cluster: string;
  /** Prefix of all subjects. */
  readonly prefix: string;
  readonly service: ShardedService;
  /** Own fields of the heartbeat. Undefined if this process only watches the service. */
  readonly self: (() => SelfReport) | undefined;
  /**
   * Set if every node has a journal. Members without a journal are then not present (decision 179).
   * Undefined if this process cannot read journals.
   */
  readonly journals?: Pick<JournalStore, 'readHead'> | undefined;
  /**
   * Whether to keep the shard lists of members. Set by a process that only watches the service and
   * receives only heartbeats.
   */
  readonly keepsShards?: boolean;
  /** Called at most once in 30 s when another cluster uses the same prefix. */
  readonly onForeignCluster: (stranger: Heartbeat | ShardAnnouncement) => void;
  /**
   * Called at most once in 30 s when a process sends a heartbeat for another process's incarnation.
   */
  readonly onImpostor?: (forged: Heartbeat) => void;
};

/** Callbacks that log ignored heartbeats from other clusters and from impostors. */
export function strangerReports(
  logger: Logger,
): Required<Pick<MembershipOptions, 'onForeignCluster' | 'onImpostor'>> {
  return {
    onForeignCluster: ({ cluster }) =>
      logger.error(
        { cluster },
        'ignored another cluster on the same NATS subjects: set another SERVICE_NATS_PREFIX for one of them',
      ),
    onImpostor: ({ incarnation, node }) =>
      logger.error(
        { otherIncarnation: incarnation, otherNode: node },
        'ignored a heartbeat in the name of another process: check for a misconfigured process with SERVICE_CLUSTER_SECRET',
      ),
  };
}

/** Set of event listeners. */
export class Listeners<Arguments extends readonly unknown[]> {
  readonly #listeners = new Set<(...args: Arguments) => void>();

  /** Adds a listener until the returned disposable is disposed. */
  add(listener: (...args: Arguments) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Calls every listener in the order of registration. */
  notify(...args: Arguments): void {
    for (const listener of this.#listeners) listener(...args);
  }

  /** Removes every listener. */
  clear(): void {
    this.#listeners.clear();
  }
}
