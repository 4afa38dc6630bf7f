import { X509Certificate } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { Fault, faultFor } from '#fault/fault';
import type { Reloadable } from '#platform/files';
import { isHostPort } from '#platform/network';

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

/**
 * A peer has sent what its domain does not allow: our bug or a lie, so it is `internal`. The
 * caller that waited for it does not know what has happened.
 */
export function brokenMessage(what: string): Fault {
  const cause = new RangeError(`${what} off the wire`);
  return new Fault('internal', 'internal error', { cause, isOutcomeUnknown: true });
}

/** How long the caller of what not every node knows yet should wait, in seconds: an upgrade takes minutes. */
const UPGRADE_RETRY_AFTER_S = 5;

/**
 * A peer asks for what only a later release knows, as happens while a cluster is being upgraded.
 * Nothing has happened, and no other node is asked: only the owner may answer.
 */
export function unknownCall(): Fault {
  const text = 'this needs a release that has not reached every node yet';
  return faultFor('upgrade_in_progress', text, { retryAfterS: UPGRADE_RETRY_AFTER_S });
}

/** Whether it is such a refusal. */
export function isUnknownCall(error: unknown): error is Fault {
  return error instanceof Fault && error.reason === 'upgrade_in_progress';
}

/** What a call is refused with that could not be read: nothing has happened, whatever is wrong with it. */
export function refusalOf(error: unknown): Fault {
  return isUnknownCall(error) ? error : new Fault('internal', 'internal error', { cause: error });
}

/** `value` if it is a whole number in [min, max], else refused. */
export function trustInteger(value: number, min: number, max: number, what: string): number {
  if (!(Number.isInteger(value) && value >= min && value <= max)) throw brokenMessage(what);
  return value;
}

/** `value` if it is in [0, 1], else refused, as NaN is. Source: numbers of the model, interface 2. */
export function trustUnit(value: number, what: string): number {
  if (!(value >= 0 && value <= 1)) throw brokenMessage(what);
  return value;
}

/** `value` if it has between `min` and `max` UTF-16 units, else refused. */
export function trustText(value: string, min: number, max: number, what: string): string {
  if (value.length < min || value.length > max) throw brokenMessage(what);
  return value;
}

/** `value` if it is `host:port`, else refused: the only addresses that processes connect to. */
export function trustHostPort(value: string, what: string): string {
  if (!isHostPort(value)) throw brokenMessage(what);
  return value;
}

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
function rolesOfPeer(raw: Buffer | undefined): readonly WireRole[] {
  return raw === undefined ? [] : rolesOf(new X509Certificate(raw));
}
