import { CLAIMS_IN_FLIGHT_MAX, HANDOFF_RETRY_MS, OPEN_POLL_MS } from '#cluster/failover-timing';
import type { FailureWatch } from '#cluster/failure-watch';
import type { Member, Membership } from '#cluster/membership';
import type { OwnerConfig, ShardHost } from '#cluster/shard-host';
import { type Clock, sleep } from '#stdlib/clock';
import { forEachConcurrently } from '#stdlib/for-each-concurrently';
import type { ShardRow, ShardStore } from '#storage/ports/cluster';
import type { JournalStore } from '#storage/ports/journal';

/** Finished takeover of `shards` shards from the incarnation `from`, which took `seconds`. */
export type TakeOver = {
  readonly from: string;
  readonly shards: number;
  readonly seconds: number;
};

/** Dependencies of shard claims. */
type ShardClaimsPorts = {
  readonly clock: Clock;
  readonly shards: Pick<ShardStore, 'change'>;
  readonly detector: Pick<FailureWatch, 'isSealed' | 'openableMs'>;
  readonly host: Pick<ShardHost, 'isRecovered' | 'recoverTail'>;
  readonly hasEnded: () => boolean;
  /**
   * Called with the row of a claimed shard. The row names this incarnation, or the incarnation that
   * won the claim.
   */
  readonly onClaimed: (row: ShardRow, reason: 'first' | 'takeover') => void;
  /** Called when every claimable shard of a sealed owner has been claimed by this incarnation. */
  readonly onTakenOver: (outcome: TakeOver) => void;
};

/**
 * Claims of one incarnation: the compare-and-set writes that make the incarnation the owner of a
 * shard (architecture 3.3).
 */
export class ShardClaims {
  readonly #config: OwnerConfig;
  readonly #ports: ShardClaimsPorts;

  constructor(config: OwnerConfig, ports: ShardClaimsPorts) {
    this.#config = config;
    this.#ports = ports;
  }

  /** Claims shards that have never had an owner. */
  async claimFirst(shards: readonly number[]): Promise<void> {
    await forEachConcurrently(shards, CLAIMS_IN_FLIGHT_MAX, async (shard) => {
      await this.#claim(shard, undefined);
    });
  }

  /**
   * Takes over shards of a sealed owner. First makes the owner's records durable in this
   * incarnation's own journal, then claims the shards, then opens them. A failed claim is retried
   * after a later read of the shard table.
   */
  async takeOver(owner: string, lost: readonly ShardRow[]): Promise<void> {
    const { clock, detector, host, hasEnded, onTakenOver } = this.#ports;
    const beganMs = clock.monotonicMs();
    const claims = lost.map(({ shard, epoch }) => ({ shard, epoch: epoch + 1 }));
    const missing = claims.filter((claim) => !host.isRecovered(claim));
    if (missing.length > 0) await host.recoverTail(owner, missing);
    // Wait before the claim: an incarnation that finds its own name in the row may open the shard
    // immediately.
    while (detector.openableMs(owner) > clock.monotonicMs()) {
      if (!detector.isSealed(owner) || hasEnded()) return;
      // In short steps, because a proof of death may arrive and end the wait early.
      await sleep(clock, OPEN_POLL_MS);
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
    // Without an answer the outcome is unknown. A later read of the table shows the outcome.
    const outcome = await shards.change(claim).catch(() => undefined);
    if (outcome === undefined) return false;
    const epoch = (from?.epoch ?? 0) + 1;
    const row = outcome.isApplied ? { shard, epoch, owner } : outcome.row;
    if (row !== undefined) onClaimed(row, from === undefined ? 'first' : 'takeover');
    return outcome.isApplied;
  }
}

/** Dependencies of handoffs. */
type HandoffPorts = {
  readonly clock: Clock;
  readonly shards: ShardStore;
  readonly journals: JournalStore;
  readonly members: Membership;
  readonly host: Pick<ShardHost, 'releasing'>;
  readonly hasEnded: () => boolean;
};

/**
 * Handoff of a closed shard to another incarnation, or to this incarnation at the next epoch
 * (architecture 3.4).
 */
export class Handoff {
  readonly #config: OwnerConfig;
  readonly #ports: HandoffPorts;

  constructor(config: OwnerConfig, ports: HandoffPorts) {
    this.#config = config;
    this.#ports = ports;
  }

  /**
   * Present incarnation of a node that may receive a shard. Undefined unless its journal has begun
   * and is not sealed.
   */
  async receiverAt(node: string | undefined): Promise<Member | undefined> {
    const member = this.#ports.members.present().find((present) => present.node === node);
    if (member === undefined) return undefined;
    const head = await this.#ports.journals
      .readHead(member.incarnation, 'quorum')
      .catch(() => undefined);
    return head === undefined || head.isSealed ? undefined : member;
  }

  /**
   * Changes the owner to `to`, or to this incarnation if `to` is undefined or leaves. Retries until
   * the epoch has moved, because a closed epoch must never be served again. Returns the row after
   * the change.
   */
  async give(from: ShardRow, to: Member | undefined): Promise<ShardRow> {
    let receiver = to;
    this.#ports.host.releasing(from.shard);
    // After the end of this incarnation, the node that takes over raises the epoch.
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

  /**
   * Row after its epoch has moved, by this change or an earlier change. Undefined if the epoch has
   * not moved or the outcome is unknown.
   */
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
