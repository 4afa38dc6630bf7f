import type { Bus } from '#bus/bus';
import { WATCH_PERIOD_MS } from '#cluster/bounds';
import {
  hearsEnough,
  nextVerdict,
  type SealReason,
  type Verdict,
  verdicts,
} from '#cluster/failure-detector';
import { Evidence, type ProbeAim, type Probed, type Watcher } from '#cluster/failure-evidence';
import { Listeners, type Membership } from '#cluster/membership';
import { toFault } from '#fault/fault';
import { type Clock, every, sleep } from '#platform/clock';
import type { ShardedService, ShardStore } from '#storage/ports/cluster';
import type { JournalStore } from '#storage/ports/journal';

/** Looks at an address by fresh connections. Never rejects. */
export type Probe = (address: string, aim: ProbeAim) => Promise<Probed>;

/** What watching other nodes takes. */
type FailureWatchPorts = {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly journals: JournalStore;
  readonly members: Membership;
  readonly probe: Probe;
  /** The longest of this process's own appends since the last call, in milliseconds. */
  readonly takeSlowestAppendMs: () => number;
  readonly onSealed: (reason: SealReason, incarnation: string) => void;
  readonly onBug: (error: unknown) => void;
};

/** The node that watches, and what it listens to. */
type FailureWatchConfig = Watcher & {
  readonly service: ShardedService;
  readonly prefix: string;
};

/**
 * Collects the evidence about the owners of shards and executes the failure detector's verdicts:
 * reads journals, probes addresses, seals. A wrong seal disturbs the sealed node and loses nothing
 * (architecture 3.3).
 */
export class FailureWatch implements Disposable {
  readonly #subject: string;
  readonly #ports: FailureWatchPorts;
  readonly #evidence: Evidence;
  readonly #listeners = new Listeners<[]>();
  readonly #opened = new DisposableStack();

  constructor(config: FailureWatchConfig, ports: FailureWatchPorts) {
    const { bus, clock } = ports;
    this.#subject = `${config.prefix}.${config.service}.suspect`;
    this.#ports = ports;
    this.#evidence = new Evidence(config, clock.monotonicMs());
    this.#opened.use(every(clock, WATCH_PERIOD_MS, () => this.#look()));
    const suspect = (message: Uint8Array) => this.#suspect(Buffer.from(message).toString());
    this.#opened.use(bus.subscribe(this.#subject, suspect));
  }

  /** Watches exactly these incarnations from now on: those that own shards. */
  watch(owners: ReadonlySet<string>): void {
    this.#evidence.watch(owners, this.#nowMs);
  }

  /** Whether an incarnation is known to be sealed: it can acknowledge nothing more. */
  isSealed(incarnation: string): boolean {
    return this.#evidence.isSealed(incarnation);
  }

  /** From when on (monotonic) a sealed incarnation's shards may be opened; infinite for others. */
  openableMs(incarnation: string): number {
    return this.#evidence.openableMs(incarnation);
  }

  /** Whether at least half of the owners of shards are heard; see `hearsEnough`. */
  get hearsEnough(): boolean {
    return hearsEnough(this.#heard(), this.#nowMs);
  }

  /** Notifies of every incarnation that turned out to be sealed. */
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

  /** The evidence with what the heartbeats say now. */
  #heard(): Evidence {
    const { members } = this.#ports;
    this.#evidence.hear(members.known(), members.present());
    return this.#evidence;
  }

  #suspect(incarnation: string): void {
    if (this.#evidence.suspect(incarnation, this.#nowMs)) this.#look();
  }

  #look(): void {
    const nowMs = this.#nowMs;
    this.#evidence.progress.look(this.#ports.takeSlowestAppendMs(), nowMs);
    for (const verdict of verdicts(this.#heard(), nowMs)) {
      this.#evidence.begin(verdict.owner, nowMs);
      this.#examine(verdict)
        .catch((error: unknown) => this.#ports.onBug(error))
        .finally(() => this.#evidence.end(verdict.owner));
    }
  }

  /** Executes one step after another until nothing is left to do about the owner. */
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
      case 'probe':
        if (verdict.afterMs > 0) await sleep(this.#ports.clock, verdict.afterMs);
        this.#evidence.probed(
          owner,
          verdict.aim,
          await this.#ports.probe(verdict.address, verdict.aim),
        );
        return;
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
      // A store without an answer is no bug: the next look tries again.
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
    // Even if it is heard: it can own nothing any more, so the ring goes on without it.
    members.forget(owner);
    bus.publish(this.#subject, Buffer.from(owner));
    this.#listeners.notify();
  }
}

/** How often old journals are looked for, and how long a sealed one is kept (architecture 3.1). */
const SCAN_PERIOD_MS = 24 * 60 * 60 * 1_000;

/** When it is first done, in milliseconds: a process that never lives for a day does it too. */
const FIRST_SCAN_MS = 60 * 1_000;

/** How long a journal whose owner has no shards must not grow before it is sealed (architecture 3.1). */
const IDLE_MS = 60 * 60 * 1_000;

/** Shards of any service at most: more than any cluster has. */
const SHARDS_MAX = 4_096;

/** What a scan looks at. */
type JournalScanPorts = {
  readonly clock: Clock;
  readonly journals: JournalStore;
  readonly shards: ShardStore;
  readonly onBug: (error: unknown) => void;
};

/**
 * Empties the journals of ended incarnations: a day after their seal, if they own nothing; and
 * seals those that own nothing and do not grow. Every node does it, a minute after its start and once a
 * day; twice does no harm, because only a sealed journal can be emptied (architecture 3.1).
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

  /** One scan: empties what is due at once, and seals after an hour what has not moved by then. */
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

  /** Every incarnation that a shard of any service names. */
  async #owners(): Promise<ReadonlySet<string>> {
    const { shards } = this.#ports;
    const rows = await Promise.all(
      (['engine', 'limiter'] as const).map((service) => shards.load(service, SHARDS_MAX)),
    );
    return new Set(rows.flat().map(({ owner }) => owner));
  }
}
