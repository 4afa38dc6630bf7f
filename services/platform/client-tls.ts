import type { Reloadable } from '#platform/reloadable';

/** Whom a client of a store or of the bus trusts, and what it shows of itself, as PEM. */
export type ClientTls = {
  /** What signs the servers. */
  readonly authority: string;
  /** Shown to servers that ask who calls. */
  readonly own: { readonly certificate: string; readonly key: string } | undefined;
};

/**
 * The same under the names of Node's TLS, with which both drivers take it. Both copy the object's
 * fields whenever they connect, so each connection is made with what counts at that moment.
 */
export function tlsOptionsOf(tls: Reloadable<ClientTls>) {
  return {
    rejectUnauthorized: true,
    get ca() {
      return tls.current.authority;
    },
    get cert() {
      return tls.current.own?.certificate;
    },
    get key() {
      return tls.current.own?.key;
    },
  };
}
