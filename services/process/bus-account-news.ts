import type { AccountNews } from '#accounts/account-news';
import { isAccountId } from '#accounts/api-key';
import type { Bus } from '#bus/bus';

/** Where news travels, and whose. */
type BusAccountNewsOptions = {
  readonly bus: Bus;
  /** The first part of every subject of the cluster. */
  readonly prefix: string;
  /** Id of the cluster: two clusters on one NATS must not believe each other. */
  readonly cluster: string;
};

/** The subject of the news of accounts. */
export function accountSubject(prefix: string): string {
  return `${prefix}.accounts`;
}

/**
 * News of accounts over a bus: the cluster's id, a space and the account's id, as text, so that
 * `nats sub` shows it. Whatever else is said under the subject is ignored without a word.
 */
export function busAccountNews({ bus, prefix, cluster }: BusAccountNewsOptions): AccountNews {
  const subject = accountSubject(prefix);
  const mark = Buffer.from(`${cluster} `);

  function accountIn(message: Uint8Array): string | undefined {
    if (!mark.equals(message.subarray(0, mark.length))) return undefined;
    // One character for every byte, whatever the bytes are: nothing is decoded that could fail.
    const id = Buffer.from(message.subarray(mark.length)).toString('latin1');
    return isAccountId(id) ? id : undefined;
  }

  return {
    get isHeard() {
      return bus.isConnected;
    },
    announce: (accountId) => bus.publish(subject, Buffer.concat([mark, Buffer.from(accountId)])),
    onChange: (listener) =>
      bus.subscribe(subject, (message) => {
        const accountId = accountIn(message);
        if (accountId !== undefined) listener(accountId);
      }),
  };
}
