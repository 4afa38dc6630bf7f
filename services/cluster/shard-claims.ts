import { CLAIMS_IN_FLIGHT_MAX, REFUSAL_GAP_MS } from '#cluster/bounds';
import type { FailureWatch } from '#cluster/failure-watch';
import type { OwnerConfig, ShardHost } from '#cluster/shard-host';
import { type Clock, sleep } from '#platform/clock';
import { forEachConcurrently } from '#platform/for-each-concurrently';
import type { ShardRow, ShardStore } from '#storage/shard-store';

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
