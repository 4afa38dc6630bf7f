import * as grpc from '@grpc/grpc-js';

/**
 * The DNS name that the certificate of every process has. Processes are reached at addresses that
 * come and go, so that who they are cannot rest on where they are (decision 120).
 */
export const TLS_NAME = 'identity-engine';

/** What a process shows and whom it trusts, each as PEM. Source: architecture 5. */
export type WireTls = {
  /** The authority that signs every process of the cluster. */
  readonly authority: Buffer;
  readonly certificate: Buffer;
  readonly key: Buffer;
};

/** Credentials of a client: TLS with its own certificate, or none at all without `tls`. */
export function clientCredentials(tls: WireTls | undefined): grpc.ChannelCredentials {
  if (tls === undefined) return grpc.credentials.createInsecure();
  return grpc.credentials.createSsl(tls.authority, tls.key, tls.certificate);
}

/** Credentials of a server: with `tls`, only clients that the same authority has signed get in. */
export function serverCredentials(tls: WireTls | undefined): grpc.ServerCredentials {
  if (tls === undefined) return grpc.ServerCredentials.createInsecure();
  const pair = { private_key: tls.key, cert_chain: tls.certificate };
  return grpc.ServerCredentials.createSsl(tls.authority, [pair], true);
}
