import { Fault } from '#fault/fault';
import { NodeService } from '#wire/gen/identity_engine/v1/node';
import { type UnaryCallOptions, unaryCall } from '#wire/unary-call';
import { NODE_ROLES } from '#wire/wire-roles';
import { trustText } from '#wire/wire-trust';

/** Longest incarnation id, in UTF-16 units. */
const INCARNATION_LENGTH_MAX = 255;

/**
 * The incarnation of the engine or limiter at `address` (`host:port`), over a fresh connection.
 * Throws `service_unavailable` when it gives none in time.
 */
export async function identify(address: string, options: UnaryCallOptions): Promise<string> {
  const callee = { address, roles: NODE_ROLES };
  const reply = await unaryCall(callee, NodeService.identify, {}, options).catch(unavailable);
  return trustText(reply?.incarnation ?? '', 1, INCARNATION_LENGTH_MAX, 'incarnation');
}

function unavailable(cause: unknown): never {
  throw new Fault('service_unavailable', 'the process does not say who it is', { cause });
}
