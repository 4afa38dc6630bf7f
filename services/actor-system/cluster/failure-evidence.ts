import { OPEN_AFTER_SEAL_MS, SUSPECT_MS } from '#cluster/failover-timing';
import { JournalProgress, type ReadTimes } from '#cluster/journal-progress';
import type { ShardedService } from '#storage/ports/cluster';
import type { JournalHead } from '#storage/ports/journal';

/** The node that collects evidence. */
export type Watcher = {
  readonly service: ShardedService;
  readonly incarnation: string;
  readonly node: string;
  /** Address of this process. An earlier incarnation with the same address is dead. */
  readonly address: string;
  /** Whether a lifeline may prove that a process has ended (`SERVICE_NODE_DIRECT`). */
  readonly isDirect: boolean;
};

/** Facts about an incarnation from its heartbeats. */
type HeardMember = {
  readonly incarnation: string;
  readonly node: string;
  readonly heardMs: number;
};

/**
 * Result of a probe. `ended`: the owner's process has ended (`cluster/lifelines`). `listening`: the
 * owner's process, or an unknown process, accepts connections. `answered`: another incarnation has
 * the address. `refused` and `silent` prove nothing.
 */
export type Probed =
  | { readonly kind: 'ended' | 'listening' | 'refused' | 'silent' }
  | { readonly kind: 'answered'; readonly incarnation: string };

/** Head of a journal, or the reason why there is none. */
export type HeadFound = JournalHead | 'missing' | 'unknown';

/** Findings so far of a running examination. */
export type Findings = {
  head: HeadFound | undefined;
  probed: Probed | undefined;
  isConcluded: boolean;
};

type Watched = {
  readonly sinceMs: number;
  /** Monotonic time at which another node last reported the owner as dead or sealed. */
  suspectedMs: number;
  /** Whether the missing journal of this owner has been reported. */
  isReported: boolean;
  /** Findings of the running examination. Undefined while no examination is running. */
  findings: Findings | undefined;
};

/**
 * Evidence of one node about shard owners: heartbeats, probes, journal heads, suspicions and seals.
 * The class only records facts; `verdicts` judges them. All times are monotonic and are passed in
 * by the caller.
 */
export class Evidence {
  readonly self: Watcher;
  readonly progress: JournalProgress;
  readonly #watched = new Map<string, Watched>();
  /** Sealed incarnations, with the time from which their shards may be opened (monotonic). */
  readonly #sealed = new Map<string, number>();
  #heard: ReadonlyMap<string, HeardMember> = new Map();
  #presentNodes: ReadonlySet<string> = new Set();
  #stalledSealMs = Number.NEGATIVE_INFINITY;
  /** Monotonic time since which this node is connected to the bus; undefined without a bus. */
  #onBusSinceMs: number | undefined = Number.NEGATIVE_INFINITY;

  constructor(self: Watcher, nowMs: number) {
    this.self = self;
    this.progress = new JournalProgress(self.service, nowMs);
  }

  /** Replaces the set of watched owners. Returns whether an owner is new. */
  watch(owners: ReadonlySet<string>, nowMs: number): boolean {
    let hasNew = false;
    for (const known of [...this.#watched.keys()]) if (!owners.has(known)) this.#drop(known);
    for (const known of [...this.#sealed.keys()]) if (!owners.has(known)) this.#drop(known);
    for (const owner of owners) {
      if (owner === this.self.incarnation || this.#watched.has(owner)) continue;
      const suspectedMs = Number.NEGATIVE_INFINITY;
      const blank = { isReported: false, findings: undefined };
      this.#watched.set(owner, { sinceMs: nowMs, suspectedMs, ...blank });
      hasNew = true;
    }
    return hasNew;
  }

  /**
   * Replaces the known incarnations and the present nodes with the content of the membership view.
   */
  hear(known: readonly HeardMember[], present: readonly HeardMember[]): void {
    this.#heard = new Map(known.map((member) => [member.incarnation, member]));
    this.#presentNodes = new Set(present.map(({ node }) => node));
  }

  /** Records whether this node is connected to the server of the bus. */
  onBus(isConnected: boolean, nowMs: number): void {
    if (!isConnected) this.#onBusSinceMs = undefined;
    else this.#onBusSinceMs ??= nowMs;
  }

  /** Records the suspicion of another node. Returns false if the suspect owns no shard. */
  suspect(owner: string, nowMs: number): boolean {
    const watched = this.#watched.get(owner);
    if (watched !== undefined) watched.suspectedMs = nowMs;
    return watched !== undefined;
  }

  /** Starts an examination of an owner. */
  begin(owner: string, nowMs: number): void {
    const watched = this.#watched.get(owner);
    if (watched !== undefined) watched.findings = this.firstFindings(owner, nowMs);
  }

  /** Findings at the start of an examination: only the journal head, if it was read recently. */
  firstFindings(owner: string, nowMs: number): Findings {
    const head = this.progress.recentHead(owner, nowMs);
    return { head, probed: undefined, isConcluded: false };
  }

  /** Records the head of an owner's journal, or that the head could not be read. */
  headRead(owner: string, head: HeadFound, times: ReadTimes): void {
    const findings = this.#findingsOf(owner);
    if (findings === undefined) return;
    findings.head = head;
    if (head === 'unknown') this.progress.unread(owner, times.nowMs);
    else if (head !== 'missing') this.progress.read(owner, head, times);
  }

  /** Records the result of a probe. */
  probed(owner: string, probed: Probed): void {
    const findings = this.#findingsOf(owner);
    if (findings !== undefined) findings.probed = probed;
  }

  /** Records that the missing journal of an owner was reported. */
  reported(owner: string): void {
    const watched = this.#watched.get(owner);
    if (watched !== undefined) watched.isReported = true;
  }

  /** Records that a seal is being sent, which concludes the examination. */
  sealing(owner: string, isStalled: boolean, nowMs: number): void {
    if (isStalled) this.#stalledSealMs = nowMs;
    const findings = this.#findingsOf(owner);
    if (findings !== undefined) findings.isConcluded = true;
  }

  /**
   * Records that an owner's journal is sealed. Without proof of death, the owner's read lease may
   * still be running, so shards of an engine open later. Returns false if the shards already open
   * at this time or earlier.
   */
  sealed(owner: string, isProvenDead: boolean, nowMs: number): boolean {
    const waitMs = isProvenDead ? 0 : OPEN_AFTER_SEAL_MS[this.self.service];
    const openableMs = nowMs + waitMs;
    if (this.openableMs(owner) <= openableMs) return false;
    this.#sealed.set(owner, openableMs);
    return true;
  }

  /** Ends the examination of an owner. */
  end(owner: string): void {
    const watched = this.#watched.get(owner);
    if (watched !== undefined) watched.findings = undefined;
  }

  /** Shard owners other than this process. */
  get watched(): ReadonlyMap<string, Readonly<Watched>> {
    return this.#watched;
  }

  /** Monotonic time at which this node last sealed a stalled journal. */
  get stalledSealMs(): number {
    return this.#stalledSealMs;
  }

  get presentNodes(): ReadonlySet<string> {
    return this.#presentNodes;
  }

  /** Last heartbeat of an incarnation; undefined if the incarnation was never heard. */
  memberOf(incarnation: string): HeardMember | undefined {
    return this.#heard.get(incarnation);
  }

  /** Whether an incarnation is sealed, and so cannot acknowledge any more writes. */
  isSealed(incarnation: string): boolean {
    return this.#sealed.has(incarnation);
  }

  /**
   * Monotonic time from which a sealed incarnation's shards may be opened. Infinite if the
   * incarnation is not sealed.
   */
  openableMs(incarnation: string): number {
    return this.#sealed.get(incarnation) ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Milliseconds since the last heartbeat of an incarnation or since watching began, whichever was
   * later.
   */
  silentMs(incarnation: string, nowMs: number): number {
    const heardMs = this.memberOf(incarnation)?.heardMs ?? Number.NEGATIVE_INFINITY;
    const sinceMs = this.#watched.get(incarnation)?.sinceMs ?? nowMs;
    return nowMs - Math.max(heardMs, sinceMs);
  }

  /**
   * As `silentMs`, but only silence on the bus counts. Without the bus, heartbeats arrive on the
   * same way as probes, so a policy could cause both silence and refusals.
   */
  silentOnBusMs(incarnation: string, nowMs: number): number {
    const sinceMs = this.#onBusSinceMs;
    return sinceMs === undefined ? 0 : Math.min(this.silentMs(incarnation, nowMs), nowMs - sinceMs);
  }

  /**
   * Share of the shard owners that is heard, in (0, 1]. This process and sealed owners are
   * included.
   */
  heardShare(nowMs: number): number {
    let heard = 1;
    for (const owner of this.#watched.keys()) {
      if (this.isSealed(owner) || this.silentMs(owner, nowMs) < SUSPECT_MS * 2) heard += 1;
    }
    return heard / (this.#watched.size + 1);
  }

  #findingsOf(owner: string): Findings | undefined {
    return this.#watched.get(owner)?.findings;
  }

  #drop(owner: string): void {
    this.#watched.delete(owner);
    this.#sealed.delete(owner);
    this.progress.forget(owner);
  }
}
