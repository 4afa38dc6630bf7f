import type { ActorCall, ActorKind, LoadedActor } from '#actor-runtime/actor-kind';
import type { Applied, EventSourcing } from '#actor-runtime/event-sourcing';
import type { Turn } from '#actor-runtime/turn';
import type { MeterUsage } from '#grpc/admin';
import type { LimiterAnswer, MeteredCall } from '#grpc/limiter-messages';
import { ACCOUNT_AGE_MS_MAX, ACCOUNT_OLD_MS, ACCOUNT_OLD_SPREAD_MS } from '#limiter/bounds';
import type { MeterEvents } from '#limiter/meter/events';
import { Meter } from '#limiter/meter/meter';
import { bytesOf } from '#limiter/meter/usage';
import { type Clock, type Instant, instantOf } from '#stdlib/clock';
import type { AccountStore } from '#storage/ports/accounts';
import { meterOfRow, rowOfMeter } from '#storage/ports/meter-codec';
import type { MeterCheckpoint, MeterRecord, MeterStore } from '#storage/ports/meters';

/** A call to a meter. */
export type MeterCall = ActorCall &
  (
    | { readonly kind: 'limit'; readonly call: MeteredCall }
    /**
     * The account or one of its keys has changed: the meter reads the account before its next
     * decision.
     */
    | { readonly kind: 'invalidate' }
    | { readonly kind: 'usage' }
    /** An operator resets the meter's month, because the month is wrong. */
    | { readonly kind: 'reset' }
  );

/** A limiter's answer to `limit`. All other calls return the account's usage. */
export type MeterAnswer = LimiterAnswer | UsageAnswer;

/**
 * Answer of a meter to `usage`, `invalidate` and `reset`. `usage` is undefined for an unknown
 * account.
 */
type UsageAnswer = { readonly verdict: 'usage'; readonly usage: MeterUsage | undefined };

type MeterPorts = {
  readonly accounts: Pick<AccountStore, 'find'>;
  readonly meters: MeterStore;
  readonly events: MeterEvents;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
};

/** Number of different refresh ages, so that meters do not read their accounts at the same time. */
const OLD_STEPS = 32;

/** Bytes of a record in memory until it is stored: its numbers and their array. */
const RECORD_BYTES = 200;

/** Bytes of a reservation in a closing record. */
const STORED_RESERVATION_BYTES = 100;

/**
 * The meter of an account as a durable actor (architecture 4). The meter commits its watermarks,
 * raised ahead of need. On deactivation the meter commits its exact counts.
 */
export class MeterKind
  implements
    ActorKind<Meter, MeterCall, MeterAnswer, MeterRecord>,
    EventSourcing<Meter, MeterRecord, Applied<Meter>, MeterCheckpoint | undefined>
{
  readonly name = 'meter';
  readonly sourcing = this;
  readonly #ports: MeterPorts;
  readonly #refreshing = new Set<Meter>();

  constructor(ports: MeterPorts) {
    this.#ports = ports;
  }

  async activate(accountId: string): Promise<LoadedActor<Meter>> {
    const { accounts, meters, events } = this.#ports;
    const readAt = instantOf(this.#ports.clock);
    const account = await accounts.find(accountId);
    // A forged key may name an account that does not exist: read nothing more.
    const head = account === undefined ? undefined : await meters.readHead(accountId);
    const state = new Meter(accountId, account, readAt, head, events);
    return { state, version: head?.version ?? 0, recentCalls: [] };
  }

  receive(
    meter: Meter,
    call: MeterCall,
    turn: Turn<MeterRecord>,
  ): MeterAnswer | Promise<MeterAnswer> {
    if (call.kind === 'invalidate') meter.account.invalidate();
    if (!meter.account.isStale(turn, ACCOUNT_AGE_MS_MAX)) {
      if (meter.account.isStale(turn, oldAgeMsOf(meter))) this.#refresh(meter);
      return answerOf(meter, call, turn);
    }
    return this.#reload(meter).then(() => answerOf(meter, call, turn));
  }

  apply(meter: Meter, record: MeterRecord, version: number): Applied<Meter> {
    meter.take(record, version);
    return { state: meter, answer: undefined };
  }

  recordOf(record: MeterRecord): unknown {
    return rowOfMeter(record);
  }

  read(row: unknown): MeterRecord {
    return meterOfRow(row);
  }

  closing(meter: Meter, now: Instant): MeterRecord | undefined {
    return meter.closing(now);
  }

  bucketOf(accountId: string): number {
    return this.#ports.meters.bucketOf(accountId);
  }

  checkpoint(accountId: string, meter: Meter) {
    const { head } = meter;
    const copy = head === undefined ? undefined : { accountId, head };
    return { copy, forget: () => meter.forget(head) };
  }

  async store(copies: readonly (MeterCheckpoint | undefined)[]): Promise<void> {
    const heads = copies.filter((copy) => copy !== undefined);
    if (heads.length > 0) await this.#ports.meters.checkpoint(heads);
  }

  sizeOf(meter: Meter): number {
    return meter.bytes;
  }

  sizeOfRecord({ reservations, keys = [], finished = [] }: MeterRecord): number {
    const counts = [...keys, ...finished.flatMap((month) => month.keys)];
    const counted = counts.reduce((sum, { days = [] }) => sum + bytesOf(days.length), 0);
    return RECORD_BYTES + reservations.length * STORED_RESERVATION_BYTES + counted;
  }

  /** The newest record of a meter contains its whole state. */
  sizeOfUnstored({ head }: Meter): number {
    return head === undefined ? 0 : this.sizeOfRecord(head);
  }

  isAbsent(meter: Meter): boolean {
    return meter.account.isAbsent;
  }

  /**
   * Reads the account again in the background. A read that began before the last invalidation is
   * dropped. A failed read is repeated when the account must be read.
   */
  #refresh(meter: Meter): void {
    if (this.#refreshing.has(meter)) return;
    this.#refreshing.add(meter);
    const { edition } = meter.account;
    const readAt = instantOf(this.#ports.clock);
    this.#ports.accounts
      .find(meter.accountId)
      .then(
        (account) => meter.account.edition === edition && meter.account.refresh(account, readAt),
        () => undefined,
      )
      .finally(() => this.#refreshing.delete(meter));
  }

  /**
   * Reads the account before the call is answered. If the read fails, the next call tries again. A
   * revoked key therefore stays refused after an outage of the store.
   */
  async #reload(meter: Meter): Promise<void> {
    const readAt = instantOf(this.#ports.clock);
    meter.account.refresh(await this.#ports.accounts.find(meter.accountId), readAt);
  }
}

/**
 * The age from which an account is read again: varies between accounts, constant for one account.
 */
function oldAgeMsOf({ accountId }: Meter): number {
  const last = accountId.charCodeAt(accountId.length - 1);
  return ACCOUNT_OLD_MS + (last % OLD_STEPS) * (ACCOUNT_OLD_SPREAD_MS / OLD_STEPS);
}

function answerOf(meter: Meter, call: MeterCall, turn: Turn<MeterRecord>): MeterAnswer {
  if (call.kind === 'limit') return meter.answer(call.call, turn);
  // A reset must be durable before it is acknowledged; reading usage commits nothing.
  if (call.kind === 'reset') meter.resetMonth(turn);
  else turn.dependOn(0);
  return { verdict: 'usage', usage: meter.usage(turn) };
}
