import {
  HEARD_MS,
  STALLED_SEAL_PAUSE_MS,
  SUSPECT_MS,
  SUSPECTED_MS,
  UNREACHABLE_MS,
  WATCHERS,
} from '#cluster/failover-timing';
import type { Evidence, Findings } from '#cluster/failure-evidence';
import { nodesAfter } from '#cluster/shard-owners';

/** All reasons for sealing a journal (architecture 3.3). */
export const SEAL_REASONS = ['dead', 'stalled', 'unreachable'] as const;

/** Reason for sealing a journal. */
export type SealReason = (typeof SEAL_REASONS)[number];

/** Next step in the examination of a shard owner. */
export type Verdict =
  | { readonly kind: 'readHead'; readonly owner: string }
  | {
      readonly kind: 'probe';
      readonly owner: string;
      readonly address: string;
      /** Whether the owner has just sent a heartbeat. */
      readonly isHeard: boolean;
    }
  /** The owner's journal is sealed already. */
  | { readonly kind: 'noteSealed'; readonly owner: string }
  | { readonly kind: 'seal'; readonly owner: string; readonly reason: SealReason }
  | { readonly kind: 'reportInconsistentState'; readonly owner: string };

/**
 * First step of each examination that is due and not running yet. `nextVerdict` returns the further
 * steps (architecture 3.3).
 */
export function verdicts(evidence: Evidence, nowMs: number): Verdict[] {
  const due = [...evidence.watched.keys()].filter((owner) => isDue(evidence, owner, nowMs));
  const first = (owner: string) =>
    verdictOn(owner, { evidence, findings: evidence.firstFindings(owner, nowMs), nowMs });
  return due.map(first).filter((verdict) => verdict !== undefined);
}

/** Next step in the examination of an owner. Undefined when the examination is finished. */
export function nextVerdict(evidence: Evidence, owner: string, nowMs: number): Verdict | undefined {
  const findings = evidence.watched.get(owner)?.findings;
  if (findings === undefined || findings.isConcluded) return undefined;
  return verdictOn(owner, { evidence, findings, nowMs });
}

/**
 * Whether this node hears at least half of the shard owners. This node itself and sealed owners are
 * included. A node that hears fewer may itself be partitioned from the others (architecture 3.4).
 */
export function hearsEnough(evidence: Evidence, nowMs: number): boolean {
  return evidence.heardShare(nowMs) >= 0.5;
}

/** Watchers always examine their owner. Other nodes examine only suspected or silent owners. */
function isDue(evidence: Evidence, owner: string, nowMs: number): boolean {
  const watched = evidence.watched.get(owner);
  if (watched === undefined || watched.findings !== undefined) return false;
  if (evidence.openableMs(owner) < nowMs) return false;
  if (nowMs - watched.suspectedMs < SUSPECTED_MS || isWatcherOf(evidence, owner)) return true;
  return evidence.silentMs(owner, nowMs) >= SUSPECT_MS;
}

/**
 * A node's watchers are the next nodes on the ring. This node also watches every owner that it has
 * never heard.
 */
function isWatcherOf(evidence: Evidence, owner: string): boolean {
  const node = evidence.memberOf(owner)?.node;
  if (node === undefined) return true;
  const nodes = new Set(evidence.presentNodes).add(node);
  return nodesAfter(node, [...nodes], WATCHERS).includes(evidence.self.node);
}

/** Inputs of one decision. */
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
    // A shard owner without a journal is an inconsistent state. Report the owner, because a seal
    // would be a guess.
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
 * Reason `dead`: the owner's process has ended, or another incarnation answers at its address.
 * Returns the probe, then the seal. Returns undefined without a proof of death.
 */
function proofOfDeath(
  owner: string,
  address: string,
  { evidence, findings, nowMs }: Examination,
): Verdict | undefined {
  const { isDirect, address: own } = evidence.self;
  const dead = { kind: 'seal', owner, reason: 'dead' } as const;
  if (isDirect && address === own) return dead;
  const { probed } = findings;
  if (probed === undefined) {
    const heardMs = evidence.memberOf(owner)?.heardMs ?? Number.NEGATIVE_INFINITY;
    return { kind: 'probe', owner, address, isHeard: nowMs - heardMs < HEARD_MS };
  }
  const isProof = probed.kind === 'ended' || probed.kind === 'answered';
  return isDirect && isProof ? dead : undefined;
}

/** Reasons `stalled` and `unreachable`, which need no proof of death. */
function reasonToSeal(
  owner: string,
  { evidence, findings, nowMs }: Examination,
): SealReason | undefined {
  const found = findings.probed?.kind;
  const silentMs = evidence.silentMs(owner, nowMs);
  if (isWatcherOf(evidence, owner) && evidence.progress.isStalled(owner)) {
    // Rate-limited, because nodes must not seal each other in turn while the store is stalled. A
    // stalled store does not make a node silent and refuse connections.
    const isGone = found === 'refused' && silentMs >= SUSPECT_MS;
    const isPaused = nowMs - evidence.stalledSealMs < STALLED_SEAL_PAUSE_MS;
    return isPaused && !isGone ? undefined : 'stalled';
  }
  // The owner is silent and unreachable, and this node itself is not partitioned.
  const isUnreached = found === 'refused' || found === 'silent';
  const isSilent = evidence.silentOnBusMs(owner, nowMs) >= UNREACHABLE_MS;
  return isUnreached && isSilent && evidence.heardShare(nowMs) > 0.5 ? 'unreachable' : undefined;
}
