import type { GivenUp } from '#edge/unfinished-bodies';
import type { Clock } from '#platform/clock';
import { LogRateLimit } from '#platform/log-rate-limit';
import type { Logger } from '#platform/logger';

/** Warnings about addresses for the log, each at most once in 30 s. */
export type AddressWarnings = {
  /** Unknown keys from a network are looked up seldom from now on. */
  barred(network: string): void;
  /** Notifications from a network are looked at seldom from now on. */
  barredNotifications(network: string): void;
  /** The body of a request was given up, because too many are unfinished. */
  unfinished(what: GivenUp): void;
  /** Many accounts call from one address. */
  shared(address: string, accounts: number): void;
};

/** Warnings about addresses, for an operator who may have forgotten to say whom to trust. */
export function addressWarnings(clock: Clock, logger: Logger): AddressWarnings {
  const bars = new LogRateLimit(clock);
  const forgeries = new LogRateLimit(clock);
  const floods = new LogRateLimit(clock);
  const shares = new LogRateLimit(clock);
  return {
    barred: (address) =>
      bars.run((others) =>
        logger.warn(
          { address, others },
          'too many refused keys: for a minute few unknown keys of this address are looked up',
        ),
      ),
    barredNotifications: (address) =>
      forgeries.run((others) =>
        logger.warn(
          { address, others },
          'too many refused notifications: for a minute few of this address are looked at',
        ),
      ),
    unfinished: (what) =>
      floods.run((others) =>
        logger.warn({ ...what, others }, 'too many unfinished requests: the oldest are given up'),
      ),
    shared: (address, accounts) =>
      shares.run((others) =>
        logger.warn(
          { address, accounts, others },
          'many accounts call from this address: if it is a proxy, name it in SERVICE_TRUSTED_PROXIES',
        ),
      ),
  };
}
