/** Whom a client of a store or of the bus trusts, and what it shows of itself, as PEM. */
export type ClientTls = {
  /** What signs the servers. */
  readonly authority: string;
  /** Shown to servers that ask who calls. */
  readonly own: { readonly certificate: string; readonly key: string } | undefined;
};

/** The same under the names of Node's TLS, with which both drivers take it. */
export function tlsOptionsOf({ authority, own }: ClientTls) {
  const shown = own === undefined ? {} : { cert: own.certificate, key: own.key };
  return { ca: authority, rejectUnauthorized: true, ...shown };
}
