import type { Bus } from '#bus/bus';
import { WATCH_PERIOD_MS } from '#cluster/failover-timing';
import {
  hearsEnough,
  nextVerdict,
  type SealReason,
  type Verdict,
  verdicts,
} from '#cluster/failure-detector';
import { Evidence, type Watcher } from '#cluster/failure-evidence';
import { type Dial, Lifelines } from '#cluster/lifelines';
import { Listeners, type Membership } from '#cluster/membership';
import { toFault } from '#errors/fault';
import { type Clock, every } from '#stdlib/clock';
import type { ShardStore } from '#storage/ports/cluster';
import type { JournalStore } from '#storage/ports/journal';

/** Dependencies of a failure watch. */
type FailureWatchPorts = {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly journals: JournalStore;
  readonly members: Membership;
  readonly dial: Dial;
  /** Duration of this process's slowest append since the last call, in milliseconds. */
  readonly takeSlowestAppendMs: () => number;
  readonly onSealed: (reason: SealReason, incarnation: string) => void;
  readonly onBug: (error: unknown) => void;
};

/** The watching node, and the prefix of its subjects. */
type FailureWatchConfig = Watcher & {
  readonly prefix: string;
  /**
   * Whether this process is the only one that uses the store. Every owner is then a predecessor of
   * this process, so new owners are examined at once. Absent: false.
   */
  readonly isOnlyWriter?: boolean | undefined;
};

/**
 * Collects evidence about shard owners and executes the verdicts of the failure detector: reads
 * journals, probes addresses, seals journals. A wrong seal interrupts the sealed node but loses no
 * data (architecture 3.3).
 */
export class FailureWatch implements Disposable {
  readonly #subject: string;
  readonly #isOnlyWriter: boolean;
  readonly #ports: FailureWatchPorts;
  readonly #evidence: Evidence;
  readonly #lifelines: Lifelines;
  readonly #listeners = new Listeners<[]>();
  readonly #opened = new DisposableStack();

  constructor(config: FailureWatchConfig, ports: FailureWatchPorts) {
    const { bus, clock } = ports;
    this.#subject = `${config.prefix}.${config.service}.suspect`;
    this.#isOnlyWriter = config.isOnlyWriter ?? false;
    this.#ports = ports;
    this.#evidence = new Evidence(config, clock.monotonicMs());
    this.#lifelines = this.#opened.use(new Lifelines(ports.dial, clock));
    this.#opened.use(every(clock, WATCH_PERIOD_MS, () => this.#look()));
    const suspect = (message: Uint8Array) => this.#suspect(Buffer.from(message).toString());
    this.#opened.use(bus.subscribe(this.#subject, suspect));
  }

  /** Replaces the set of watched incarnations: the owners of shards. */
  watch(owners: ReadonlySet<string>): void {
    const hasNew = this.#evidence.watch(owners, this.#nowMs);
    this.#lifelines.keep(new Set(this.#evidence.watched.keys()));
    if (hasNew && this.#isOnlyWriter) this.#beginExaminations();
  }

  /** Whether an incarnation is sealed. A sealed incarnation cannot acknowledge writes. */
  isSealed(incarnation: string): boolean {
    return this.#evidence.isSealed(incarnation);
  }

  /**
   * Monotonic time from which a sealed incarnation's shards may be opened. Infinite if the
   * incarnation is not sealed.
   */
  openableMs(incarnation: string): number {
    return this.#evidence.openableMs(incarnation);
  }

  /** Whether this node hears at least half of the shard owners; see `hearsEnough`. */
  get hearsEnough(): boolean {
    return hearsEnough(this.#heard(), this.#nowMs);
  }

  /** Registers a listener for newly sealed incarnations. */
  onSealed(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
    this.#listeners.clear();
  }

  get #nowMs(): number {
    return this.#ports.clock.monotonicMs();
  }

  /** Evidence, updated with the current membership view. */
  #heard(): Evidence {
    const { members, bus } = this.#ports;
    this.#evidence.onBus(bus.isConnected, this.#nowMs);
    this.#evidence.hear(members.known(), members.present());
    return this.#evidence;
  }

  #suspect(incarnation: string): void {
    if (this.#evidence.suspect(incarnation, this.#nowMs)) this.#look();
  }

  #look(): void {
    const { takeSlowestAppendMs, members } = this.#ports;
    this.#evidence.progress.look(takeSlowestAppendMs(), this.#nowMs);
    // To all owners: a node without a lifeline cannot open the shards of a dead owner at once.
    for (const { incarnation, address } of members.known()) {
      this.#lifelines.open(incarnation, address);
    }
    this.#beginExaminations();
  }

  #beginExaminations(): void {
    const nowMs = this.#nowMs;
    for (const verdict of verdicts(this.#heard(), nowMs)) {
      this.#evidence.begin(verdict.owner, nowMs);
      this.#examine(verdict)
        .catch((error: unknown) => this.#ports.onBug(error))
        .finally(() => this.#evidence.end(verdict.owner));
    }
  }

  /** Executes steps until the examination of the owner is finished. */
  async #examine(first: Verdict): Promise<void> {
    let verdict: Verdict | undefined = first;
    while (verdict !== undefined) {
      await this.#execute(verdict);
      verdict = nextVerdict(this.#heard(), verdict.owner, this.#nowMs);
    }
  }

  async #execute(verdict: Verdict): Promise<void> {
    const { owner } = verdict;
    switch (verdict.kind) {
      case 'readHead':
        return await this.#readHead(owner);
      case 'probe': {
        const { address, isHeard } = verdict;
        this.#evidence.probed(owner, await this.#lifelines.probe(owner, address, isHeard));
        return;
      }
      case 'noteSealed':
        return this.#noteSealed(owner, false);
      case 'seal':
        return await this.#seal(owner, verdict.reason);
      case 'reportInconsistentState':
        this.#evidence.reported(owner);
        this.#ports.onBug(new Error(`a shard is owned by ${owner}, which has no journal`));
    }
  }

  async #readHead(owner: string): Promise<void> {
    const beganMs = this.#nowMs;
    const head = await this.#ports.journals.readHead(owner, 'quorum').then(
      (found) => found ?? ('missing' as const),
      () => 'unknown' as const,
    );
    this.#evidence.headRead(owner, head, { beganMs, nowMs: this.#nowMs });
  }

  async #seal(owner: string, reason: SealReason): Promise<void> {
    const { journals, onSealed, onBug } = this.#ports;
    this.#evidence.sealing(owner, reason === 'stalled', this.#nowMs);
    const sealed = await journals.seal(owner).catch((error: unknown) => {
      // An unavailable store is not a bug. The next check retries.
      if (toFault(error).code !== 'service_unavailable') onBug(error);
      return undefined;
    });
    if (sealed === undefined) return;
    if (sealed.isApplied) onSealed(reason, owner);
    else if (sealed.head?.isSealed !== true) return;
    this.#noteSealed(owner, reason === 'dead');
  }

  #noteSealed(owner: string, isProvenDead: boolean): void {
    const { members, bus } = this.#ports;
    if (!this.#evidence.sealed(owner, isProvenDead, this.#nowMs)) return;
    // Forget the node even if it is still heard. A sealed incarnation can own nothing.
    members.forget(owner);
    bus.publish(this.#subject, Buffer.from(owner));
    this.#listeners.notify();
  }
}

/**
 * Period of scanning for old journals, and retention of a sealed journal, in milliseconds
 * (architecture 3.1).
 */
const SCAN_PERIOD_MS = 24 * 60 * 60 * 1_000;

/**
 * Delay of the first scan, in milliseconds. Short, so that a process with a short uptime also
 * scans.
 */
const FIRST_SCAN_MS = 60 * 1_000;

/**
 * Time without growth after which the journal of an incarnation without shards is sealed, in
 * milliseconds (architecture 3.1).
 */
const IDLE_MS = 60 * 60 * 1_000;

/** Maximum number of shards per service. */
const SHARDS_MAX = 4_096;

/** Dependencies of a journal scan. */
type JournalScanPorts = {
  readonly clock: Clock;
  readonly journals: JournalStore;
  readonly shards: ShardStore;
  readonly onBug: (error: unknown) => void;
};

/**
 * Garbage collection for journals whose incarnations own no shards. A scan empties journals that
 * were sealed a day ago, and seals journals that have not grown for an hour.
 *
 * Every node scans a minute after its start and once a day. Concurrent scans are safe, because only
 * a sealed journal can be emptied (architecture 3.1).
 */
export class JournalScan implements Disposable {
  readonly #ports: JournalScanPorts;
  readonly #incarnation: string;
  readonly #first: Disposable;
  readonly #scanning: Disposable;
  #sealing: Disposable | undefined;

  constructor(incarnation: string, ports: JournalScanPorts) {
    this.#incarnation = incarnation;
    this.#ports = ports;
    const scan = () => void this.scan().catch(ports.onBug);
    this.#first = ports.clock.after(FIRST_SCAN_MS, scan);
    this.#scanning = every(ports.clock, SCAN_PERIOD_MS, scan);
  }

  /** Empties expired journals now. Seals idle journals an hour later if they have not grown. */
  async scan(): Promise<void> {
    const { clock, journals } = this.#ports;
    const owners = await this.#owners();
    const idle = new Map<string, number>();
    for (const { incarnation, sealedAtMs } of await journals.list()) {
      if (owners.has(incarnation) || incarnation === this.#incarnation) continue;
      if (sealedAtMs === undefined) {
        const head = await journals.readHead(incarnation, 'quorum');
        if (head !== undefined) idle.set(incarnation, head.next);
      } else if (clock.wallMs() - sealedAtMs >= SCAN_PERIOD_MS) {
        await journals.empty(incarnation);
      }
    }
    this.#sealing = clock.after(IDLE_MS, () => {
      this.#sealIdle(idle).catch(this.#ports.onBug);
    });
  }

  [Symbol.dispose](): void {
    this.#first[Symbol.dispose]();
    this.#scanning[Symbol.dispose]();
    this.#sealing?.[Symbol.dispose]();
  }

  async #sealIdle(idle: ReadonlyMap<string, number>): Promise<void> {
    const { journals } = this.#ports;
    const owners = await this.#owners();
    for (const [incarnation, next] of idle) {
      const head = await journals.readHead(incarnation, 'serial');
      if (!owners.has(incarnation) && head?.next === next) await journals.seal(incarnation);
    }
  }

  /** Incarnations that own a shard of any service. */
  async #owners(): Promise<ReadonlySet<string>> {
    const { shards } = this.#ports;
    const rows = await Promise.all(
      (['engine', 'limiter'] as const).map((service) => shards.load(service, SHARDS_MAX)),
    );
    return new Set(rows.flat().map(({ owner }) => owner));
  }
}
