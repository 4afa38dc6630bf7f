import { OPEN_AFTER_SEAL_MS, SUSPECT_MS } from '#cluster/bounds';
import { JournalProgress, type ReadTimes } from '#cluster/journal-progress';
import type { JournalHead } from '#storage/ports/journal';

/** The node that watches. */
export type Watcher = {
  readonly incarnation: string;
  readonly node: string;
  /** Where this process answers: an earlier incarnation that had this address is dead. */
  readonly address: string;
  /** Whether addresses lead straight to processes; behind a proxy or NAT they prove nothing. */
  readonly isDirect: boolean;
};

/** An incarnation as its heartbeats show it. */
type HeardMember = {
  readonly incarnation: string;
  readonly node: string;
  readonly heardMs: number;
};

/** What is to be found out about an address: whether a process listens there, or which. */
export type ProbeAim = 'listener' | 'incarnation';

/** What was found: `listening` where it was not asked who, `silent` where nothing can be said. */
export type Probed =
  | { readonly kind: 'refused' | 'listening' | 'silent' }
  | { readonly kind: 'answered'; readonly incarnation: string };

/** The head of a journal as far as it could be read. */
export type HeadFound = JournalHead | 'missing' | 'unknown';

/** What one examination of an owner has found so far. */
export type Findings = {
  head: HeadFound | undefined;
  aim: ProbeAim | undefined;
  probed: Probed | undefined;
  refusals: number;
  isConcluded: boolean;
};

type Watched = {
  readonly sinceMs: number;
  /** When another node said last that it is dead or sealed (monotonic). */
  suspectedMs: number;
  /** Whether its lack of a journal has been reported. */
  isReported: boolean;
  /** Undefined while it is not examined. */
  findings: Findings | undefined;
};

/**
 * What a node has seen of the owners of shards: heartbeats, probes, journal heads, suspicions and
 * seals. It only records facts; `verdicts` judges them. Every time is monotonic and comes from the
 * caller.
 */
export class Evidence {
  readonly self: Watcher;
  readonly progress: JournalProgress;
  readonly #watched = new Map<string, Watched>();
  /** Sealed incarnations, and from when on their shards may be opened. */
  readonly #sealed = new Map<string, number>();
  #heard: ReadonlyMap<string, HeardMember> = new Map();
  #presentNodes: ReadonlySet<string> = new Set();
  #stalledSealMs = Number.NEGATIVE_INFINITY;

  constructor(self: Watcher, nowMs: number) {
    this.self = self;
    this.progress = new JournalProgress(nowMs);
  }

  /** Exactly these incarnations own shards from now on. */
  watch(owners: ReadonlySet<string>, nowMs: number): void {
    for (const known of [...this.#watched.keys()]) if (!owners.has(known)) this.#drop(known);
    for (const known of [...this.#sealed.keys()]) if (!owners.has(known)) this.#drop(known);
    for (const owner of owners) {
      if (owner === this.self.incarnation || this.#watched.has(owner)) continue;
      const suspectedMs = Number.NEGATIVE_INFINITY;
      const blank = { isReported: false, findings: undefined };
      this.#watched.set(owner, { sinceMs: nowMs, suspectedMs, ...blank });
    }
  }

  /** Every incarnation that is known and every node that is present, as the membership has it now. */
  hear(known: readonly HeardMember[], present: readonly HeardMember[]): void {
    this.#heard = new Map(known.map((member) => [member.incarnation, member]));
    this.#presentNodes = new Set(present.map(({ node }) => node));
  }

  /** Another node says that an owner is dead or sealed. False if it owns nothing. */
  suspect(owner: string, nowMs: number): boolean {
    const watched = this.#watched.get(owner);
    if (watched !== undefined) watched.suspectedMs = nowMs;
    return watched !== undefined;
  }

  /** An examination of an owner begins. */
  begin(owner: string, nowMs: number): void {
    const watched = this.#watched.get(owner);
    if (watched !== undefined) watched.findings = this.firstFindings(owner, nowMs);
  }

  /** What an examination that begins now has without looking: the head, if it was read just now. */
  firstFindings(owner: string, nowMs: number): Findings {
    const head = this.progress.recentHead(owner, nowMs);
    return { head, aim: undefined, probed: undefined, refusals: 0, isConcluded: false };
  }

  /** The head of an owner's journal was read, or could not be. */
  headRead(owner: string, head: HeadFound, times: ReadTimes): void {
    const findings = this.#findingsOf(owner);
    if (findings === undefined) return;
    findings.head = head;
    if (head === 'unknown') this.progress.unread(owner, times.nowMs);
    else if (head !== 'missing') this.progress.read(owner, head, times);
  }

  /** An owner's address was probed. */
  probed(owner: string, aim: ProbeAim, probed: Probed): void {
    const findings = this.#findingsOf(owner);
    if (findings === undefined) return;
    findings.aim = aim;
    findings.probed = probed;
    if (probed.kind === 'refused') findings.refusals += 1;
  }

  /** That an owner has no journal is reported. */
  reported(owner: string): void {
    const watched = this.#watched.get(owner);
    if (watched !== undefined) watched.isReported = true;
  }

  /** A seal of an owner's journal is sent, which concludes its examination. */
  sealing(owner: string, isStalled: boolean, nowMs: number): void {
    if (isStalled) this.#stalledSealMs = nowMs;
    const findings = this.#findingsOf(owner);
    if (findings !== undefined) findings.isConcluded = true;
  }

  /**
   * An owner's journal is sealed, seen now; without proof of death its read lease may still run.
   * Whether that is news.
   */
  sealed(owner: string, isProvenDead: boolean, nowMs: number): boolean {
    const openableMs = isProvenDead ? nowMs : nowMs + OPEN_AFTER_SEAL_MS;
    if (this.openableMs(owner) <= openableMs) return false;
    this.#sealed.set(owner, openableMs);
    return true;
  }

  /** The examination of an owner has ended. */
  end(owner: string): void {
    const watched = this.#watched.get(owner);
    if (watched !== undefined) watched.findings = undefined;
  }

  /** The owners of shards, without this process. */
  get watched(): ReadonlyMap<string, Readonly<Watched>> {
    return this.#watched;
  }

  /** When this node last sealed a journal that did not grow. */
  get stalledSealMs(): number {
    return this.#stalledSealMs;
  }

  /** The nodes that are present. */
  get presentNodes(): ReadonlySet<string> {
    return this.#presentNodes;
  }

  /** What was heard of an incarnation; undefined for nothing. */
  memberOf(incarnation: string): HeardMember | undefined {
    return this.#heard.get(incarnation);
  }

  /** Whether an incarnation is known to be sealed: it can acknowledge nothing more. */
  isSealed(incarnation: string): boolean {
    return this.#sealed.has(incarnation);
  }

  /** From when on a sealed incarnation's shards may be opened; infinite for others. */
  openableMs(incarnation: string): number {
    return this.#sealed.get(incarnation) ?? Number.POSITIVE_INFINITY;
  }

  /** How long an incarnation has not been heard, at most since it is watched. */
  silentMs(incarnation: string, nowMs: number): number {
    const heardMs = this.memberOf(incarnation)?.heardMs ?? Number.NEGATIVE_INFINITY;
    const sinceMs = this.#watched.get(incarnation)?.sinceMs ?? nowMs;
    return nowMs - Math.max(heardMs, sinceMs);
  }

  /** The share of the owners of shards that is heard, this one and the sealed ones included. */
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
