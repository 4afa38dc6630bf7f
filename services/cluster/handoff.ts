import { HANDOFF_RETRY_MS } from '#cluster/bounds';
import type { Member, Membership } from '#cluster/membership';
import type { OwnerConfig, ShardHost } from '#cluster/shard-host';
import { type Clock, sleep } from '#platform/clock';
import type { JournalStore } from '#storage/journal-store';
import type { ShardRow, ShardStore } from '#storage/shard-store';

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
