import type { SecureContextOptions } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import type { Reloadable } from '#platform/reloadable';
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
 * Credentials of a client that connects now: TLS with its own certificate, and only with a server of
 * one of the `wanted` roles; none at all without `tls`.
 */
export function clientCredentials(
  tls: Reloadable<WireTls> | undefined,
  wanted: readonly WireRole[],
): grpc.ChannelCredentials {
  if (tls === undefined) return grpc.credentials.createInsecure();
  const checkServerIdentity = (_: string, { raw }: { readonly raw: Buffer }) => {
    const roles = rolesOfPeer(raw);
    if (wanted.some((role) => roles.includes(role))) return undefined;
    const shown = roles.join(', ') || 'no process of a cluster';
    return new Error(`its certificate is of ${shown}, not of ${wanted.join(' or ')}`);
  };
  const { authority, key, certificate } = tls.current;
  return grpc.credentials.createSsl(authority, key, certificate, { checkServerIdentity });
}

/**
 * Credentials of a server: with `tls`, only clients that the same authority has signed get in. Each
 * connection is judged by what counts when it is made; those that are open stay.
 */
export function serverCredentials(
  tls: Reloadable<WireTls> | undefined,
): grpc.ServerCredentials & Partial<Disposable> {
  return tls === undefined ? grpc.ServerCredentials.createInsecure() : new ReloadedCredentials(tls);
}

/**
 * gRPC's own certificate provider (1.14.7) takes authority and certificate one after the other, and
 * lets none in that comes before; this gives all at once.
 */
class ReloadedCredentials extends grpc.ServerCredentials implements Disposable {
  readonly #changes: Disposable;

  constructor(tls: Reloadable<WireTls>) {
    super({ requestCert: true, rejectUnauthorized: true }, contextOf(tls.current));
    this.#changes = tls.onChange((changed) => this.updateSecureContextOptions(contextOf(changed)));
  }

  override _equals(other: grpc.ServerCredentials): boolean {
    return this === other;
  }

  [Symbol.dispose](): void {
    this.#changes[Symbol.dispose]();
  }
}

function contextOf({ authority, certificate, key }: WireTls): SecureContextOptions {
  return { ca: authority, cert: certificate, key };
}
