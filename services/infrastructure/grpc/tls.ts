import { X509Certificate } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import type { Reloadable } from '#stdlib/files';

/**
 * Server name in a client's TLS handshake. The addresses of processes change, so a client does not
 * check the address but the role in the certificate (decision 143).
 */
export const TLS_NAME = 'identity-engine';

/** Certificates for calls between processes, each as PEM. Source: architecture 5. */
export type WireTls = {
  /** Authority that signs the certificates of all cluster processes. */
  readonly authority: Buffer;
  readonly certificate: Buffer;
  readonly key: Buffer;
};

/**
 * Credentials of a new client connection: TLS with the client's certificate, only to servers with
 * one of the `wanted` roles. Plain text without `tls`.
 */
export function clientCredentials(
  tls: Reloadable<WireTls> | undefined,
  wanted: readonly WireRole[],
): grpc.ChannelCredentials {
  if (tls === undefined) return grpc.credentials.createInsecure();
  const checkServerIdentity = (_: string, { raw }: { readonly raw: Buffer }) => {
    const roles = rolesOfPeer(raw);
    if (wanted.some((role) => roles.includes(role))) return undefined;
    const shown = roles.join(', ') || 'no role of a cluster process';
    return new Error(`its certificate has ${shown}, not the role ${wanted.join(' or ')}`);
  };
  const { authority, key, certificate } = tls.current;
  return grpc.credentials.createSsl(authority, key, certificate, { checkServerIdentity });
}

/**
 * Credentials of a server. With `tls`, only clients signed by the same authority can connect. Each
 * new connection is checked with the current certificates; open connections stay.
 */
export function serverCredentials(
  tls: Reloadable<WireTls> | undefined,
): grpc.ServerCredentials & Partial<Disposable> {
  return tls === undefined ? grpc.ServerCredentials.createInsecure() : new ReloadedCredentials(tls);
}

/**
 * Server credentials that replace authority and certificate at the same time. gRPC's own
 * certificate provider (1.14.7) loads them one after the other and refuses connections meanwhile.
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

/** Roles of the processes in a cluster. */
export const WIRE_ROLES = ['edge', 'engine', 'limiter', 'courier', 'console', 'ctl'] as const;

/** Role of a process in calls to other processes in its cluster. */
export type WireRole = (typeof WIRE_ROLES)[number];

/**
 * Roles that may call each method, with TLS. This is the only permission table (decision 143). No
 * role may call a method that is not listed.
 */
export const CALLERS: Readonly<Record<string, readonly WireRole[]>> = {
  // Edges send observations, and the console sends observations for members. Engines maintain each
  // other's listings. `ctl` deletes an account's instances, trims, and manages webhook endpoints.
  '/identity_engine.v1.Engine/Exchange': ['edge', 'engine', 'console', 'ctl'],
  '/identity_engine.v1.Engine/Ask': ['ctl'],
  // Only the console may request admission for members without a key: see
  // `limiterProtocol.callersOf`.
  '/identity_engine.v1.Limiter/Exchange': ['edge', 'console'],
  '/identity_engine.v1.Limiter/Ask': ['ctl'],
  // Only engines deliver.
  '/identity_engine.v1.Courier/Exchange': ['engine'],
  '/identity_engine.v1.Courier/Ask': [],
  // Nodes ask whose lifeline a connection is.
  '/identity_engine.v1.Admin/Identify': ['engine', 'limiter', 'ctl'],
  // While NATS is away. Nodes ask the nodes of their own service.
  '/identity_engine.v1.Admin/Pull': ['edge', 'engine', 'limiter', 'console'],
  '/identity_engine.v1.Admin/Drain': ['ctl'],
  '/identity_engine.v1.Admin/ReadInstance': ['ctl'],
  // The admin port of any limiter and the console serve all accounts. They query the owner of the
  // meter.
  '/identity_engine.v1.Admin/ReadUsage': ['limiter', 'console', 'ctl'],
  '/identity_engine.v1.Admin/ResetUsage': ['limiter'],
  // Any limiter's admin port shows the whole cluster.
  '/identity_engine.v1.Admin/ReadLoad': ['limiter'],
  '/grpc.health.v1.Health/Check': WIRE_ROLES,
  '/grpc.health.v1.Health/Watch': WIRE_ROLES,
};

/** DNS name that stands for a role in certificates, independent of the process's address. */
export function roleName(role: WireRole): string {
  return `${role}.identity-engine`;
}

/** Roles in a certificate. Only exact DNS names are accepted, not wildcards or the subject. */
export function rolesOf(certificate: X509Certificate): readonly WireRole[] {
  const strict = { subject: 'never', wildcards: false } as const;
  return WIRE_ROLES.filter((role) => certificate.checkHost(roleName(role), strict) !== undefined);
}

/** Roles of a peer. Undefined on a connection without TLS. */
export function rolesOfCall(call: {
  getAuthContext(): { sslPeerCertificate?: { raw: Buffer } };
}): readonly WireRole[] | undefined {
  const { sslPeerCertificate } = call.getAuthContext();
  return sslPeerCertificate && rolesOfPeer(sslPeerCertificate.raw);
}

/** Roles in the certificate of a handshake. Empty without a certificate. */
function rolesOfPeer(raw: Buffer | undefined): readonly WireRole[] {
  return raw === undefined ? [] : rolesOf(new X509Certificate(raw));
}
