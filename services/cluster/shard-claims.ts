import { CLAIMS_IN_FLIGHT_MAX, HANDOFF_RETRY_MS, REFUSAL_GAP_MS } from '#cluster/bounds';
import type { FailureWatch } from '#cluster/failure-watch';
import type { Member, Membership } from '#cluster/membership';
import type { OwnerConfig, ShardHost } from '#cluster/shard-host';
import { type Clock, sleep } from '#platform/clock';
import { forEachConcurrently } from '#platform/for-each-concurrently';
import type { ShardRow, ShardStore } from '#storage/ports/cluster';
import type { JournalStore } from '#storage/ports/journal';

/** A finished take-over: `shards` of the incarnation `from`, after `seconds`. */
export type TakeOver = {
  readonly from: string;
  readonly shards: number;
  readonly seconds: number;
};

/** What claiming shards takes. */
type ShardClaimsPorts = {
  readonly clock: Clock;
  readonly shards: Pick<ShardStore, 'change'>;
  readonly detector: Pick<FailureWatch, 'isSealed' | 'openableMs'>;
  readonly host: Pick<ShardHost, 'isRecovered' | 'recoverTail'>;
  readonly hasEnded: () => boolean;
  /** The row of a claimed shard as it then is: this incarnation's, or the winner's. */
  readonly onClaimed: (row: ShardRow, reason: 'first' | 'takeover') => void;
  /** Notified when all shards of a sealed owner that this incarnation could claim are claimed. */
  readonly onTakenOver: (outcome: TakeOver) => void;
};

/** The claims of one incarnation: what it tries to become the owner of (architecture 3.3). */
export class ShardClaims {
  readonly #config: OwnerConfig;
  readonly #ports: ShardClaimsPorts;

  constructor(config: OwnerConfig, ports: ShardClaimsPorts) {
    this.#config = config;
    this.#ports = ports;
  }

  /** Claims shards that no node has ever owned. */
  async claimFirst(shards: readonly number[]): Promise<void> {
    await forEachConcurrently(shards, CLAIMS_IN_FLIGHT_MAX, async (shard) => {
      await this.#claim(shard, undefined);
    });
  }

  /**
   * Takes the shards of a sealed owner over: first its records, durable in this incarnation's own
   * journal, then the claims, then the shards open. What fails is tried again from the table later.
   */
  async takeOver(owner: string, lost: readonly ShardRow[]): Promise<void> {
    const { clock, detector, host, hasEnded, onTakenOver } = this.#ports;
    const beganMs = clock.monotonicMs();
    const claims = lost.map(({ shard, epoch }) => ({ shard, epoch: epoch + 1 }));
    const missing = claims.filter((claim) => !host.isRecovered(claim));
    if (missing.length > 0) await host.recoverTail(owner, missing);
    // Before the claim: an incarnation that finds itself in the row may open at once.
    while (detector.openableMs(owner) > clock.monotonicMs()) {
      if (!detector.isSealed(owner) || hasEnded()) return;
      // In short steps: a proof of its death may come and end the wait.
      await sleep(clock, REFUSAL_GAP_MS);
    }
    let shards = 0;
    await forEachConcurrently(lost, CLAIMS_IN_FLIGHT_MAX, async (row) => {
      if (await this.#claim(row.shard, row)) shards += 1;
    });
    const seconds = (clock.monotonicMs() - beganMs) / 1_000;
    if (shards > 0) onTakenOver({ from: owner, shards, seconds });
  }

  /** Returns whether this incarnation is now the owner. */
  async #claim(shard: number, from: ShardRow | undefined): Promise<boolean> {
    const { shards, hasEnded, onClaimed } = this.#ports;
    if (hasEnded()) return false;
    const { service, incarnation: owner } = this.#config;
    const claim = { service, shard, from, owner };
    // Without an answer nothing is decided: the table says later what became of it.
    const outcome = await shards.change(claim).catch(() => undefined);
    if (outcome === undefined) return false;
    const epoch = (from?.epoch ?? 0) + 1;
    const row = outcome.isApplied ? { shard, epoch, owner } : outcome.row;
    if (row !== undefined) onClaimed(row, from === undefined ? 'first' : 'takeover');
    return outcome.isApplied;
  }
}

/** What handing a shard off takes. */
type HandoffPorts = {
  readonly clock: Clock;
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly members: Membership;
  readonly host: Pick<ShardHost, 'releasing'>;
  readonly hasEnded: () => boolean;
};

/** Gives a closed shard to another incarnation, or to this one at the next epoch (architecture 3.4). */
export class Handoff {
  readonly #config: OwnerConfig;
  readonly #ports: HandoffPorts;

  constructor(config: OwnerConfig, ports: HandoffPorts) {
    this.#config = config;
    this.#ports = ports;
  }

  /** The incarnation of a node that may own a shard: only one whose journal is known to have begun. */
  async receiverAt(node: string | undefined): Promise<Member | undefined> {
    const member = this.#ports.members.present().find((present) => present.node === node);
    if (member === undefined) return undefined;
    const head = await this.#ports.journals
      .readHead(member.incarnation, 'quorum')
      .catch(() => undefined);
    return head === undefined || head.isSealed ? undefined : member;
  }

  /**
   * Changes the owner to `to`, or to this incarnation without one or when that one goes away, again
   * and again until the epoch has moved: the closed epoch is never served again. Returns the row as
   * it then is.
   */
  async give(from: ShardRow, to: Member | undefined): Promise<ShardRow> {
    let receiver = to;
    this.#ports.host.releasing(from.shard);
    // After the end of this incarnation the node that takes over from it moves the epoch.
    while (!this.#ports.hasEnded()) {
      const row = await this.#change(from, receiver?.incarnation ?? this.#config.incarnation);
      if (row !== undefined) {
        if (receiver?.incarnation === row.owner) this.#ports.members.announceFor(receiver, row);
        return row;
      }
      await sleep(this.#ports.clock, HANDOFF_RETRY_MS);
      if (!this.#isPresent(receiver)) receiver = undefined;
    }
    return from;
  }

  /** The row once its epoch has moved, by this change or an earlier one; undefined while it has not. */
  async #change(from: ShardRow, owner: string): Promise<ShardRow | undefined> {
    const { shard, epoch } = from;
    const change = { service: this.#config.service, shard, from, owner };
    const outcome = await this.#ports.shards.change(change).catch(() => undefined);
    if (outcome?.isApplied) return { shard, owner, epoch: epoch + 1 };
    const row = outcome?.row;
    return row !== undefined && row.epoch > epoch ? row : undefined;
  }

  #isPresent(receiver: Member | undefined): boolean {
    const { members } = this.#ports;
    return members.present().some(({ incarnation }) => incarnation === receiver?.incarnation);
  }
}
