import { X509Certificate } from 'node:crypto';

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
