import { X509Certificate } from 'node:crypto';
import type { Reloadable } from '#platform/files';

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

const CERTIFICATE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]+-----END \1-----/g;

/** All certificates of a file, as PEM, in their order. Throws for one that cannot be read. */
export function certificatesIn(pem: Buffer): readonly X509Certificate[] {
  return [...pem.toString('latin1').matchAll(CERTIFICATE)].map(
    ([text]) => new X509Certificate(text),
  );
}

/** When the first of them expires, in Unix seconds. At least one is needed. */
export function earliestEndS(certificates: readonly X509Certificate[]): number {
  return Math.min(...certificates.map(({ validTo }) => Date.parse(validTo) / 1_000));
}

/** Whether an authority of the list has signed a certificate of the chain, or is one itself. */
export function isChainOf(
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean {
  return chain.some((shown) =>
    authorities.some((signer) => shown.checkIssued(signer) && shown.verify(signer.publicKey)),
  );
}
