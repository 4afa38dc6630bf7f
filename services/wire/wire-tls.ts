import * as grpc from '@grpc/grpc-js';
import { rolesOfPeer, type WireRole } from '#wire/wire-roles';

/**
 * The name that a client asks for in its handshake. Processes are reached at addresses that come
 * and go, so that who they are cannot rest on where they are: what counts is the role in the
 * certificate (decision 143).
 */
export const TLS_NAME = 'identity-engine';

/** What a process shows and whom it trusts, each as PEM. Source: architecture 5. */
export type WireTls = {
  /** The authority that signs every process of the cluster. */
  readonly authority: Buffer;
  readonly certificate: Buffer;
  readonly key: Buffer;
};

/**
 * Credentials of a client: TLS with its own certificate, and only with a server of one of the
 * `wanted` roles; none at all without `tls`.
 */
export function clientCredentials(
  tls: WireTls | undefined,
  wanted: readonly WireRole[],
): grpc.ChannelCredentials {
  if (tls === undefined) return grpc.credentials.createInsecure();
  const checkServerIdentity = (_: string, { raw }: { readonly raw: Buffer }) => {
    const roles = rolesOfPeer(raw);
    if (wanted.some((role) => roles.includes(role))) return undefined;
    const shown = roles.join(', ') || 'no process of a cluster';
    return new Error(`its certificate is of ${shown}, not of ${wanted.join(' or ')}`);
  };
  return grpc.credentials.createSsl(tls.authority, tls.key, tls.certificate, {
    checkServerIdentity,
  });
}

/** Credentials of a server: with `tls`, only clients that the same authority has signed get in. */
export function serverCredentials(tls: WireTls | undefined): grpc.ServerCredentials {
  if (tls === undefined) return grpc.ServerCredentials.createInsecure();
  const pair = { private_key: tls.key, cert_chain: tls.certificate };
  return grpc.ServerCredentials.createSsl(tls.authority, [pair], true);
}
