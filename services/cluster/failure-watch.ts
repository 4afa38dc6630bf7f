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
import { Listeners } from '#cluster/listeners';
import type { Membership } from '#cluster/membership';
import { toFault } from '#fault/fault';
import { type Clock, every, sleep } from '#platform/clock';
import type { JournalStore } from '#storage/journal-store';
import type { ShardedService } from '#storage/shard-store';

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
