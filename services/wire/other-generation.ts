import { status } from '@grpc/grpc-js';

/**
 * Why a connection was refused whose peer does not serve `service`: it speaks another generation of
 * the wire, which the package of a service names (`identity_engine.v1`). Undefined: for another reason.
 * Source: decision 239.
 */
export function otherGeneration(
  cause: unknown,
  service: string,
  address: string,
): Error | undefined {
  const isStatus = typeof cause === 'object' && cause !== null && 'code' in cause;
  if (!isStatus || cause.code !== status.UNIMPLEMENTED) return undefined;
  const why = 'it is of a release too far from this one';
  return new Error(`${address} does not serve ${service}: ${why}`, { cause });
}
