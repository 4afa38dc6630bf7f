import { nextVerdict, type SealReason, type Verdict, verdicts } from '#cluster/failure-detector';
import { Evidence, type HeadFound, type Probed } from '#cluster/failure-evidence';
import type { ShardedService } from '#storage/ports/cluster';
import type { JournalHead } from '#storage/ports/journal';

const NAMES = { incarnation: 'me-1', node: 'me', address: 'me:1' };
const ME = { ...NAMES, service: 'engine' as ShardedService, isDirect: true };

/** Result of a probe of an owner: a word, or the process that answered. */
type Found = Exclude<Probed['kind'], 'answered'> | Extract<Probed, { kind: 'answered' }>;

/** Head of an open journal of `node`, overridden by `change`. */
export function headOf(node: string, change: Partial<JournalHead> = {}): JournalHead {
  return { address: `${node}:1`, next: 0, lowWaterMark: 0, isSealed: false, ...change };
}

/** Reason for sealing a journal; undefined for every other verdict. */
export function reasonOf(verdict: Verdict | undefined): SealReason | undefined {
  return verdict?.kind === 'seal' ? verdict.reason : undefined;
}

/** Evidence of `me` about some owners, each heard when the scene starts. No clock, no I/O. */
export class EvidenceScene {
  readonly evidence: Evidence;
  nowMs = 100_000;
  readonly #heardMs = new Map<string, number>();

  constructor(owners: readonly string[] = ['a', 'b', 'c'], self: Partial<typeof ME> = {}) {
    this.evidence = new Evidence({ ...ME, ...self }, this.nowMs);
    this.evidence.watch(new Set(['me-1', ...owners.map((node) => `${node}-1`)]), this.nowMs);
    this.hear(...owners);
  }

  /** Records heartbeats of these nodes now. The others stay present. */
  hear(...nodes: readonly string[]): void {
    for (const node of nodes) this.#heardMs.set(node, this.nowMs);
    const members = [...this.#heardMs].map(([node, heardMs]) => ({
      node,
      incarnation: `${node}-1`,
      heardMs,
    }));
    this.evidence.hear(members, [...members, { ...ME, heardMs: this.nowMs }]);
  }

  /** Passes seconds in which `nodes` send heartbeats and this process is not delayed. */
  pass(seconds: number, nodes: readonly string[] = []): void {
    for (let half = 0; half < seconds * 2; half += 1) {
      this.nowMs += 500;
      this.hear(...nodes);
      this.evidence.progress.look(0, this.nowMs);
    }
  }

  /** Verdict about an owner if a look starts now. */
  first(node: string): Verdict | undefined {
    return verdicts(this.evidence, this.nowMs).find(({ owner }) => owner === `${node}-1`);
  }

  /**
   * Examines an owner. Each probe gets the next of these results. Returns the verdict that follows
   * the last result; undefined if the examination ends.
   */
  examine(node: string, head: HeadFound, ...probes: readonly Found[]): Verdict | undefined {
    const owner = `${node}-1`;
    let verdict = this.first(node);
    this.evidence.begin(owner, this.nowMs);
    const left = [...probes];
    for (;;) {
      if (verdict?.kind === 'readHead') {
        this.evidence.headRead(owner, head, { beganMs: this.nowMs, nowMs: this.nowMs });
      } else if (verdict?.kind === 'probe' && left.length > 0) {
        const found = left.shift() ?? 'silent';
        const probed = typeof found === 'string' ? { kind: found } : found;
        this.evidence.probed(owner, probed);
      } else break;
      verdict = nextVerdict(this.evidence, owner, this.nowMs);
    }
    this.evidence.end(owner);
    return verdict;
  }
}
