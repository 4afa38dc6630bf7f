import type * as grpc from '@grpc/grpc-js';
import type { Clock } from '#platform/clock';
import type { Reloadable } from '#platform/reloadable';
import { ownChannel } from '#wire/own-channel';
import type { WireRole } from '#wire/wire-roles';
import { clientCredentials, type WireTls } from '#wire/wire-tls';

/** How long one call may take, and what it takes from outside. */
export type UnaryCallOptions = {
  /** Connect included, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Absent: plain text. */
  readonly tls?: Reloadable<WireTls> | undefined;
};

/** Whom a call is for. */
type Callee = {
  /** `host:port`. */
  readonly address: string;
  /** With TLS, the process there must be of one of these. */
  readonly roles: readonly WireRole[];
};

/**
 * One call over a fresh connection. Rejects with gRPC's
 * own `ServiceError`, which the caller puts into words; after `timeoutMs` its code is CANCELLED.
 * Nothing of the connection is left in the end, whatever the peer does.
 */
export async function unaryCall<Request, Reply>(
  { address, roles }: Callee,
  method: grpc.MethodDefinition<Request, Reply>,
  request: Request,
  { timeoutMs, clock, tls }: UnaryCallOptions,
): Promise<Reply | undefined> {
  using opened = new DisposableStack();
  // A connection of its own: one that is reused could lead to a process that is no longer there.
  const { client, cut } = ownChannel(address, clientCredentials(tls, roles));
  opened.defer(cut);
  opened.defer(() => client.close());
  const { promise, resolve, reject } = Promise.withResolvers<Reply | undefined>();
  const { path, requestSerialize, responseDeserialize } = method;
  const call = client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    (error, reply) => (error === null ? resolve(reply) : reject(error)),
  );
  opened.use(clock.after(timeoutMs, () => call.cancel()));
  return await promise;
}
