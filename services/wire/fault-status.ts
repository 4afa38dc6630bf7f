import { Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { FAULTS, type Fault, toFault } from '#fault/fault';
import { faultFromWire, faultToWire } from '#wire/fault-codec';
import { Fault as WireFault } from '#wire/gen/identity_engine/v1/stream';

/** Trailer of a refusal: the whole fault as `proto/` writes it, for processes of the cluster. */
const FAULT_TRAILER = 'fault-bin';

/** An error as the status of a unary call; its details are `code: message`, for people. */
export function statusOfError(error: unknown): Partial<StatusObject> {
  const fault = toFault(error);
  const metadata = new Metadata();
  const bytes = WireFault.encode(faultToWire(fault)).finish();
  metadata.set(FAULT_TRAILER, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return { code: FAULTS[fault.code].grpc, details: `${fault.code}: ${fault.message}`, metadata };
}

/** The peer's own fault; undefined when the status is not of `statusOfError`'s making. */
export function faultOfStatus({ metadata }: ServiceError): Fault | undefined {
  const [bytes] = metadata?.get(FAULT_TRAILER) ?? [];
  if (!Buffer.isBuffer(bytes)) return undefined;
  try {
    return faultFromWire(WireFault.decode(bytes));
  } catch {
    return undefined;
  }
}
