import {
  HEARD_MS,
  REFUSAL_GAP_MS,
  STALLED_SEAL_PAUSE_MS,
  SUSPECT_MS,
  SUSPECTED_MS,
  UNREACHABLE_MS,
  WATCHERS,
} from '#cluster/bounds';
import type { Evidence, Findings, ProbeAim } from '#cluster/failure-evidence';
import { nodesAfter } from '#cluster/ring';

/** Why a journal is sealed: the three reasons of architecture 3.3. */
export const SEAL_REASONS = ['dead', 'stalled', 'unreachable'] as const;

/** One of them. */
export type SealReason = (typeof SEAL_REASONS)[number];

/** What the evidence demands to be done about an owner of shards. */
export type Verdict =
  | { readonly kind: 'readHead'; readonly owner: string }
  | {
      readonly kind: 'probe';
      readonly owner: string;
      readonly address: string;
      readonly aim: ProbeAim;
      /** The pause before it, in milliseconds. */
      readonly afterMs: number;
    }
  /** Its journal is sealed already. */
  | { readonly kind: 'noteSealed'; readonly owner: string }
  | { readonly kind: 'seal'; readonly owner: string; readonly reason: SealReason }
  | { readonly kind: 'reportInconsistentState'; readonly owner: string };

/**
 * What to do now about the owners of shards: the first step of the examination of each that is due
 * and not under way. Further steps follow from `nextVerdict` (architecture 3.3).
 */
export function verdicts(evidence: Evidence, nowMs: number): Verdict[] {
  const due = [...evidence.watched.keys()].filter((owner) => isDue(evidence, owner, nowMs));
  const first = (owner: string) =>
    verdictOn(owner, { evidence, findings: evidence.firstFindings(owner, nowMs), nowMs });
  return due.map(first).filter((verdict) => verdict !== undefined);
}

/** The next step of the examination of one owner; undefined when it is over. */
export function nextVerdict(evidence: Evidence, owner: string, nowMs: number): Verdict | undefined {
  const findings = evidence.watched.get(owner)?.findings;
  if (findings === undefined || findings.isConcluded) return undefined;
  return verdictOn(owner, { evidence, findings, nowMs });
}

/**
 * Whether at least half of the owners of shards are heard, this one and the sealed ones included: a
 * node that hears fewer may be the one that is cut off (architecture 3.4).
 */
export function hearsEnough(evidence: Evidence, nowMs: number): boolean {
  return evidence.heardShare(nowMs) >= 0.5;
}

/** An owner is examined by its watchers always, by other nodes when it is suspected or silent. */
function isDue(evidence: Evidence, owner: string, nowMs: number): boolean {
  const watched = evidence.watched.get(owner);
  if (watched === undefined || watched.findings !== undefined) return false;
  if (evidence.openableMs(owner) < nowMs) return false;
  if (nowMs - watched.suspectedMs < SUSPECTED_MS || isWatcherOf(evidence, owner)) return true;
  return evidence.silentMs(owner, nowMs) >= SUSPECT_MS;
}

/** The nodes after it on the ring watch a node; one that this node has not heard it watches too. */
function isWatcherOf(evidence: Evidence, owner: string): boolean {
  const node = evidence.memberOf(owner)?.node;
  if (node === undefined) return true;
  const nodes = new Set(evidence.presentNodes).add(node);
  return nodesAfter(node, [...nodes], WATCHERS).includes(evidence.self.node);
}

/** One examination at one moment. */
type Examination = {
  readonly evidence: Evidence;
  readonly findings: Findings;
  readonly nowMs: number;
};

function verdictOn(owner: string, examination: Examination): Verdict | undefined {
  const { evidence, findings } = examination;
  const { head } = findings;
  if (head === undefined) return { kind: 'readHead', owner };
  if (head === 'unknown') return undefined;
  if (head === 'missing') {
    // Never sealed by guess: an owner without a journal is an inconsistent state.
    const isReported = evidence.watched.get(owner)?.isReported === true;
    return isReported ? undefined : { kind: 'reportInconsistentState', owner };
  }
  if (head.isSealed && !evidence.isSealed(owner)) return { kind: 'noteSealed', owner };
  const proof = proofOfDeath(owner, head.address, examination);
  if (proof !== undefined) return proof;
  if (head.isSealed || evidence.isSealed(owner)) return undefined;
  const reason = reasonToSeal(owner, examination);
  return reason === undefined ? undefined : { kind: 'seal', owner, reason };
}

/**
 * First reason: no process listens at its address, twice, or another one does. The step that is
 * still needed, or the seal; undefined when nothing proves that the owner is dead.
 */
function proofOfDeath(
  owner: string,
  address: string,
  { evidence, findings, nowMs }: Examination,
): Verdict | undefined {
  const { isDirect, address: own } = evidence.self;
  const dead = { kind: 'seal', owner, reason: 'dead' } as const;
  if (isDirect && address === own) return dead;
  const { probed, aim, refusals } = findings;
  if (probed === undefined || aim === undefined) {
    return { kind: 'probe', owner, address, aim: aimAt(evidence, owner, nowMs), afterMs: 0 };
  }
  if (!isDirect) return undefined;
  if (probed.kind === 'answered') return probed.incarnation === owner ? undefined : dead;
  if (probed.kind !== 'refused') return undefined;
  return refusals < 2 ? { kind: 'probe', owner, address, aim, afterMs: REFUSAL_GAP_MS } : dead;
}

/**
 * An owner that has just been heard is not asked who it is: that another process has its address is
 * found out when it is heard no more.
 */
function aimAt(evidence: Evidence, owner: string, nowMs: number): ProbeAim {
  const heardMs = evidence.memberOf(owner)?.heardMs ?? Number.NEGATIVE_INFINITY;
  return nowMs - heardMs < HEARD_MS ? 'listener' : 'incarnation';
}

/** Second and third reason, which need no proof of death. */
function reasonToSeal(
  owner: string,
  { evidence, findings, nowMs }: Examination,
): SealReason | undefined {
  if (isWatcherOf(evidence, owner) && evidence.progress.isStalled(owner)) {
    // Seldom: a store that stalls must not make nodes seal each other in a row.
    return nowMs - evidence.stalledSealMs < STALLED_SEAL_PAUSE_MS ? undefined : 'stalled';
  }
  const found = findings.probed?.kind;
  // Not heard, not reached, and that is not because this node is cut off itself.
  const isUnreached = found === 'refused' || found === 'silent';
  const isSilent = evidence.silentMs(owner, nowMs) >= UNREACHABLE_MS;
  return isUnreached && isSilent && evidence.heardShare(nowMs) > 0.5 ? 'unreachable' : undefined;
}
