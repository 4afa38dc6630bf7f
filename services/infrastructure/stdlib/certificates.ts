import { X509Certificate } from 'node:crypto';
import type { Reloadable } from '#stdlib/files';

/** TLS settings for a client of a store or the bus, as PEM. */
export type ClientTls = {
  /** Authority that signs the servers' certificates. */
  readonly authority: string;
  /** Client certificate for servers that request one. */
  readonly own: { readonly certificate: string; readonly key: string } | undefined;
};

/**
 * TLS settings under the names of Node's TLS options, for both drivers. The drivers copy the fields
 * at every connect. The getters therefore give each connection the current certificates.
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

/** Certificates in a PEM file, in file order. Throws for a certificate that cannot be parsed. */
export function certificatesIn(pem: Buffer): readonly X509Certificate[] {
  return [...pem.toString('latin1').matchAll(CERTIFICATE)].map(
    ([text]) => new X509Certificate(text),
  );
}

/** Earliest expiry of the certificates, in Unix seconds. Requires at least one certificate. */
export function earliestEndS(certificates: readonly X509Certificate[]): number {
  return Math.min(...certificates.map(({ validTo }) => Date.parse(validTo) / 1_000));
}

/**
 * Whether an authority in the list has signed a certificate in the chain, or is itself in the
 * chain.
 */
export function isChainOf(
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean {
  return chain.some((shown) =>
    authorities.some((signer) => shown.checkIssued(signer) && shown.verify(signer.publicKey)),
  );
}
