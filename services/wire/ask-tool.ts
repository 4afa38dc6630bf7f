import { type MethodDefinition, type ServiceError, status } from '@grpc/grpc-js';
import { Fault } from '#fault/fault';
import { faultOfStatus } from '#wire/tool-status';
import { type UnaryCallOptions, unaryCall } from '#wire/unary-call';
import { NODE_ROLES } from '#wire/wire-roles';

/** Whom a tool is asked of. */
export type AskedPeer = {
  /** `host:port`. */
  readonly address: string;
  /** What should answer there; `node`: either of them. */
  readonly kind: 'engine' | 'limiter' | 'node';
};

/**
 * Asks a unary method over a connection of its own. Rejects with the peer's own fault, or with
 * `service_unavailable` when nobody of that kind answers there in time.
 */
export async function askTool<Request, Reply>(
  peer: AskedPeer,
  method: MethodDefinition<Request, Reply>,
  request: Request,
  options: UnaryCallOptions,
): Promise<Reply> {
  const roles = peer.kind === 'node' ? NODE_ROLES : [peer.kind];
  const callee = { address: peer.address, roles };
  const reply = await unaryCall(callee, method, request, options).catch((error: ServiceError) => {
    throw faultOfStatus(error) ?? nobodyAt(peer, error);
  });
  if (reply === undefined) throw nobodyAt(peer, undefined);
  return reply;
}

function nobodyAt({ address, kind }: AskedPeer, cause: ServiceError | undefined): Fault {
  const text = `no ${kind} of a cluster answers at ${address}${whyOf(cause)}`;
  if (kind === 'node') return new Fault('service_unavailable', text, { cause });
  return new Fault('service_unavailable', text, { reason: `${kind}_unavailable`, cause });
}

/** Whoever reads it looks for the reason at the other process next: is it slow, gone, or another? */
function whyOf(cause: ServiceError | undefined): string {
  switch (cause?.code) {
    case undefined:
    case status.UNIMPLEMENTED:
      return '';
    // Nobody but our own clock cancels.
    case status.CANCELLED:
      return ' in time';
    default:
      return `: ${cause?.details}`;
  }
}
