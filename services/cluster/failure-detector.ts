import type { Bus } from '#bus/bus';
import {
  HEARD_MS,
  OPEN_AFTER_SEAL_MS,
  REFUSAL_GAP_MS,
  STALLED_SEAL_PAUSE_MS,
  SUSPECT_MS,
  SUSPECTED_MS,
  UNREACHABLE_MS,
  WATCH_PERIOD_MS,
  WATCHERS,
} from '#cluster/bounds';
import { JournalProgress } from '#cluster/journal-progress';
import { listening } from '#cluster/listening';
import type { Membership } from '#cluster/membership';
import { nodesAfter } from '#cluster/ring';
import { type Clock, every, sleep } from '#platform/clock';
import type { JournalStore } from '#storage/journal-store';
import type { ShardedService } from '#storage/shard-store';

/** Why a journal was sealed: the three grounds of architecture 3.3. */
export type SealReason = 'dead' | 'stalled' | 'unreachable';

/** What is to be found out about an address: whether anybody listens there, or who does. */
export type ProbeAim = 'listener' | 'incarnation';

/** What was found: `listening` where it was not asked who, `silent` where nothing can be said. */
export type Probed =
  | { readonly kind: 'refused' | 'listening' | 'silent' }
  | { readonly kind: 'answered'; readonly incarnation: string };

/** Looks at an address by fresh connections. Never rejects. */
export type Probe = (address: string, aim: ProbeAim) => Promise<Probed>;

/** What watching others takes. */
export type FailureDetectorPorts = {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly journals: JournalStore;
  readonly members: Membership;
  readonly probe: Probe;
  /** The longest of this process's own appends since it was last asked, in milliseconds. */
  readonly takeSlowestAppendMs: () => number;
  readonly onSealed: (reason: SealReason, incarnation: string) => void;
  readonly onBug: (error: unknown) => void;
};

/** Who watches. */
export type FailureDetectorConfig = {
  readonly service: ShardedService;
  readonly prefix: string;
  readonly incarnation: string;
  readonly node: string;
  /** Where this process answers: whoever else was there before it lives no more. */
  readonly address: string;
  /** Whether addresses lead straight to processes; behind a proxy or NAT they prove nothing. */
  readonly isDirect: boolean;
};

type Watched = {
  readonly sinceMs: number;
  isBusy: boolean;
  /** When somebody said last that it is dead or sealed (monotonic). */
  suspectedMs: number;
  /** Whether its lack of a journal has been reported. */
  hasNoJournal: boolean;
  /** Whether the last probe found nobody to connect to. */
  isUnreachable: boolean;
};

/**
 * Finds out which owners of shards live no more, and seals their journals on one of three grounds
 * (architecture 3.3). Being wrong disturbs the sealed one and loses nothing.
 */
export class FailureDetector implements Disposable {
  readonly #config: FailureDetectorConfig;
  readonly #ports: FailureDetectorPorts;
  readonly #progress: JournalProgress;
  readonly #watched = new Map<string, Watched>();
  /** Sealed incarnations, and from when on their shards may be opened (monotonic). */
  readonly #sealed = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  readonly #opened = new DisposableStack();
  #stillSealMs = Number.NEGATIVE_INFINITY;

  constructor(config: FailureDetectorConfig, ports: FailureDetectorPorts) {
    this.#config = config;
    this.#ports = ports;
    const { bus, clock } = ports;
    this.#progress = new JournalProgress(ports);
    this.#opened.use(every(clock, WATCH_PERIOD_MS, () => this.#look()));
    const suspect = (message: Uint8Array) => this.#suspect(Buffer.from(message).toString());
    this.#opened.use(bus.subscribe(this.#subject, suspect));
  }

  /** Watches exactly these incarnations from now on: those that own shards. */
  watch(owners: ReadonlySet<string>): void {
    const { incarnation } = this.#config;
    for (const known of [...this.#watched.keys()]) {
      if (!owners.has(known)) this.#watched.delete(known);
    }
    for (const known of [...this.#sealed.keys()]) {
      if (!owners.has(known)) this.#sealed.delete(known);
    }
    const sinceMs = this.#ports.clock.monotonicMs();
    for (const owner of owners) {
      if (owner === incarnation || this.#watched.has(owner)) continue;
      const suspectedMs = Number.NEGATIVE_INFINITY;
      const blank = { isBusy: false, hasNoJournal: false, isUnreachable: false };
      this.#watched.set(owner, { sinceMs, suspectedMs, ...blank });
    }
  }

  /** Whether an incarnation is known to be sealed: it can acknowledge nothing more. */
  isSealed(incarnation: string): boolean {
    return this.#sealed.has(incarnation);
  }

  /** From when on (monotonic) a sealed incarnation's shards may be opened; infinite for others. */
  openableMs(incarnation: string): number {
    return this.#sealed.get(incarnation) ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Whether at least half of the shard-owning incarnations are heard, this one and the sealed ones
   * included: whoever hears fewer may be the one that is cut off (architecture 3.4).
   */
  get hearsEnough(): boolean {
    return this.#heardShare * 2 >= this.#watched.size + 1;
  }

  /** Hears that an incarnation turned out to be sealed. */
  onSealed(listener: () => void): Disposable {
    return listening(this.#listeners, listener);
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
    this.#listeners.clear();
  }

  get #subject(): string {
    return `${this.#config.prefix}.${this.#config.service}.suspect`;
  }

  get #heardShare(): number {
    let heard = 1;
    for (const owner of this.#watched.keys()) {
      if (this.#sealed.has(owner) || this.#silentMs(owner) < SUSPECT_MS * 2) heard += 1;
    }
    return heard;
  }

  /** How long an incarnation has not been heard, at most since it is watched. */
  #silentMs(incarnation: string): number {
    const nowMs = this.#ports.clock.monotonicMs();
    const member = this.#memberOf(incarnation);
    const sinceMs = this.#watched.get(incarnation)?.sinceMs ?? nowMs;
    return nowMs - Math.max(member?.heardMs ?? Number.NEGATIVE_INFINITY, sinceMs);
  }

  #memberOf(incarnation: string) {
    return this.#ports.members.known().find((member) => member.incarnation === incarnation);
  }

  #suspect(incarnation: string): void {
    const watched = this.#watched.get(incarnation);
    if (watched === undefined) return;
    watched.suspectedMs = this.#ports.clock.monotonicMs();
    this.#look();
  }

  #look(): void {
    this.#progress.look();
    const nowMs = this.#ports.clock.monotonicMs();
    for (const [owner, watched] of this.#watched) {
      if (watched.isBusy || this.openableMs(owner) < nowMs) continue;
      const isMine = this.#isWatcherOf(owner);
      const isSuspected = nowMs - watched.suspectedMs < SUSPECTED_MS;
      if (!isMine && !isSuspected && this.#silentMs(owner) < SUSPECT_MS) continue;
      watched.isBusy = true;
      this.#examine(owner, watched, isMine)
        .catch((error: unknown) => this.#ports.onBug(error))
        .finally(() => {
          watched.isBusy = false;
        });
    }
  }

  /** The nodes after it on the ring watch a node; one that nobody has heard is watched by all. */
  #isWatcherOf(owner: string): boolean {
    const node = this.#memberOf(owner)?.node;
    if (node === undefined) return true;
    const nodes = new Set(this.#ports.members.present().map((member) => member.node)).add(node);
    return nodesAfter(node, [...nodes], WATCHERS).includes(this.#config.node);
  }

  async #examine(owner: string, watched: Watched, isMine: boolean): Promise<void> {
    const head = await this.#progress.read(owner);
    if (head === 'unknown') return;
    if (head === 'missing') {
      // Never by guess: a journal without a beginning is a riddle for a human.
      const riddle = new Error(`a shard is owned by ${owner}, which has no journal`);
      if (!watched.hasNoJournal) this.#ports.onBug(riddle);
      watched.hasNoJournal = true;
      return;
    }
    if (head.isSealed) this.#note(owner, false);
    if (await this.#isDead(owner, head.address, watched)) await this.#seal(owner, 'dead');
    else if (head.isSealed || this.isSealed(owner)) return;
    else if (isMine && this.#progress.isStill(owner)) await this.#sealStill(owner);
    else if (this.#isGone(owner, watched)) await this.#seal(owner, 'unreachable');
  }

  /**
   * First reason: nobody listens there, twice, or somebody else does. An owner that has just been
   * heard is not asked who it is: that it is another one by now is found out when it is heard no more.
   */
  async #isDead(owner: string, address: string, watched: Watched): Promise<boolean> {
    const { probe, clock } = this.#ports;
    const { isDirect, address: own } = this.#config;
    if (isDirect && address === own) return true;
    const heardMs = this.#memberOf(owner)?.heardMs ?? Number.NEGATIVE_INFINITY;
    const aim = clock.monotonicMs() - heardMs < HEARD_MS ? 'listener' : 'incarnation';
    for (let refusals = 0; refusals < 2; refusals += 1) {
      if (refusals > 0) await sleep(clock, REFUSAL_GAP_MS);
      const found = await probe(address, aim);
      watched.isUnreachable = found.kind === 'refused' || found.kind === 'silent';
      if (!isDirect) return false;
      if (found.kind === 'answered') return found.incarnation !== owner;
      if (found.kind !== 'refused') return false;
    }
    return true;
  }

  /** Second reason, seldom: a store that stalls must not make nodes seal each other in a row. */
  async #sealStill(owner: string): Promise<void> {
    const nowMs = this.#ports.clock.monotonicMs();
    if (nowMs - this.#stillSealMs < STALLED_SEAL_PAUSE_MS) return;
    this.#stillSealMs = nowMs;
    await this.#seal(owner, 'stalled');
  }

  /** Third reason: nobody hears it and nobody can reach it, and that is not for our being cut off. */
  #isGone(owner: string, watched: Watched): boolean {
    if (!watched.isUnreachable || this.#silentMs(owner) < UNREACHABLE_MS) return false;
    return this.#heardShare * 2 > this.#watched.size + 1;
  }

  async #seal(owner: string, reason: SealReason): Promise<void> {
    const { journals, onSealed } = this.#ports;
    const sealed = await journals.seal(owner).catch(() => undefined);
    if (sealed === undefined) return;
    if (sealed.isApplied) onSealed(reason, owner);
    else if (sealed.head?.isSealed !== true) return;
    this.#note(owner, reason === 'dead');
  }

  /** An incarnation is sealed, seen now; without proof of its death its read lease may still run. */
  #note(owner: string, isProvenDead: boolean): void {
    const { clock, members, bus } = this.#ports;
    const nowMs = clock.monotonicMs();
    const before = this.openableMs(owner);
    const openableMs = isProvenDead ? nowMs : nowMs + OPEN_AFTER_SEAL_MS;
    if (before <= openableMs) return;
    this.#sealed.set(owner, openableMs);
    // However loudly it still speaks: it can own nothing any more, so the ring goes on without it.
    members.forget(owner);
    bus.publish(this.#subject, Buffer.from(owner));
    for (const listener of this.#listeners) listener();
  }
}
