import { X509Certificate } from 'node:crypto';

/** All that a process of a cluster can be to the others. */
export const WIRE_ROLES = ['edge', 'engine', 'limiter', 'console', 'ctl'] as const;

/** What a process of a cluster is to the others. */
export type WireRole = (typeof WIRE_ROLES)[number];

/**
 * Which role may call which method, with TLS: the one place that says so (decision 143). A method
 * that is not here may be called by no role.
 */
export const CALLERS: Readonly<Record<string, readonly WireRole[]>> = {
  // Edges process observations, and the console for members; engines keep the listings of each other's
  // instances; ctl deletes those of an account, and trims.
  '/identity_engine.v1.Engine/Exchange': ['edge', 'engine', 'console', 'ctl'],
  '/identity_engine.v1.Engine/Ask': ['ctl'],
  // Only the console may have members admitted, who show no key: see `limiterProtocol.callersOf`.
  '/identity_engine.v1.Limiter/Exchange': ['edge', 'console'],
  '/identity_engine.v1.Limiter/Ask': ['ctl'],
  // Nodes look whether a silent one is dead.
  '/identity_engine.v1.Admin/Identify': ['engine', 'limiter', 'ctl'],
  '/identity_engine.v1.Admin/Drain': ['ctl'],
  '/identity_engine.v1.Admin/ReadInstance': ['ctl'],
  // Any limiter's admin port answers for all accounts, and asks the owner of the meter, as the console does.
  '/identity_engine.v1.Admin/ReadUsage': ['limiter', 'console', 'ctl'],
  '/identity_engine.v1.Admin/ResetUsage': ['limiter'],
  // Any limiter's admin port shows the whole cluster.
  '/identity_engine.v1.Admin/ReadLoad': ['limiter'],
  '/grpc.health.v1.Health/Check': WIRE_ROLES,
  '/grpc.health.v1.Health/Watch': WIRE_ROLES,
};

/** The DNS name by which a certificate names a role, whatever the address of its process. */
export function roleName(role: WireRole): string {
  return `${role}.identity-engine`;
}

/** The roles that a certificate names, as DNS names of its own: no wildcard and no subject counts. */
export function rolesOf(certificate: X509Certificate): readonly WireRole[] {
  const strict = { subject: 'never', wildcards: false } as const;
  return WIRE_ROLES.filter((role) => certificate.checkHost(roleName(role), strict) !== undefined);
}

/** The roles of a peer; undefined for a connection without TLS, on which none has any. */
export function rolesOfCall(call: {
  getAuthContext(): { sslPeerCertificate?: { raw: Buffer } };
}): readonly WireRole[] | undefined {
  const { sslPeerCertificate } = call.getAuthContext();
  return sslPeerCertificate && rolesOfPeer(sslPeerCertificate.raw);
}

/** The same of a certificate as a handshake leaves it; empty for none. */
export function rolesOfPeer(raw: Buffer | undefined): readonly WireRole[] {
  return raw === undefined ? [] : rolesOf(new X509Certificate(raw));
}
