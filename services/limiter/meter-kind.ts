import { Meter, type MeterUsage } from '#limiter/meter';
import type { Clock } from '#platform/clock';
import type { ActorCall, ActorKind } from '#runtime/actor-kind';
import type { AccountStore } from '#storage/account-store';
import type { LimiterAnswer, LimiterCall } from '#wire/limiter-messages';

/** Everything a meter can be asked. */
export type MeterCall = ActorCall &
  (
    | { readonly kind: 'limit'; readonly call: LimiterCall }
    /** The account or one of its keys has changed: read it again before anything else. */
    | { readonly kind: 'reload' }
    | { readonly kind: 'usage' }
  );

/** A limiter's answer to `limit`, the account's usage (undefined: no such account) to the others. */
export type MeterAnswer = LimiterAnswer | UsageAnswer;

/** What a meter says to `usage` and `reload`. */
export type UsageAnswer = { readonly verdict: 'usage'; readonly usage: MeterUsage | undefined };

/** What meters need of their process. */
export type MeterPorts = {
  readonly accounts: Pick<AccountStore, 'find'>;
  readonly clock: Clock;
  /** Called for every reservation that nobody settled in time. */
  readonly onExpired: () => void;
};

/**
 * The meter of an account as a durable actor (architecture 4). Here its counts live in memory
 * alone: it commits nothing, so it has nothing to apply or to checkpoint, and it stays in memory
 * while its counts matter.
 */
export function meterKind(ports: MeterPorts): ActorKind<Meter, MeterCall, MeterAnswer, never> {
  const { accounts, clock, onExpired } = ports;

  // From here until the account has been read the meter does not know who may do what; if it cannot
  // be read the next call tries again, so that a revoked key never outlives a store that was down.
  async function reload(meter: Meter): Promise<void> {
    meter.isStale = true;
    meter.adopt(await accounts.find(meter.accountId));
  }

  return {
    name: 'meter',

    async activate(accountId) {
      const record = await accounts.find(accountId);
      return { state: new Meter(accountId, record, onExpired), version: 0, recentCalls: [] };
    },

    receive(meter, call, turn) {
      switch (call.kind) {
        case 'limit':
          if (!meter.isStale) return meter.answer(call.call, turn);
          return reload(meter).then(() => meter.answer(call.call, turn));
        case 'reload':
          return reload(meter).then(() => ({ verdict: 'usage', usage: meter.usage(turn) }));
        case 'usage':
          return { verdict: 'usage', usage: meter.usage(turn) };
      }
    },

    // No operation exists that could be passed in: the parameter's type is `never`.
    apply: () => undefined,
    recordOf: () => undefined,
    read: () => {
      throw new Error('the journal holds nothing of a meter');
    },
    owedAfter: () => undefined,

    // Never called: without commits no meter is ever dirty.
    checkpoint: () => ({ write: async () => undefined, forget: () => undefined }),

    sizeOf: (meter) => meter.bytes,
    sizeOfRecord: () => 0,
    isAbsent: (meter) => meter.isAbsent,
    isEvictable: (meter, nowMs) => meter.isBlank({ nowMs, monotonicMs: clock.monotonicMs() }),
  };
}
