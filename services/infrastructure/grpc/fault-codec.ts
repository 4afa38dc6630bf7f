import { Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { FAULTS, type FaultCode } from '#errors/error-codes';
import { type FaultReason, PEER_REASONS, type PeerReason, REASONS } from '#errors/error-reasons';
import { Fault, type ShardOwner, toFault } from '#errors/fault';
import { Fault as WireFault } from '#grpc/gen/identity_engine/v1/stream';
import { brokenMessage, trustHostPort, trustInteger, trustText } from '#grpc/tls';

/** Maximum length of a fault's message or field path, in UTF-16 units. Generous for a sentence. */
const FAULT_TEXT_LENGTH_MAX = 4_096;

/** Maximum length of an owner's incarnation, in UTF-16 units. */
const OWNER_TEXT_LENGTH_MAX = 261;

/** Trailer with the whole fault as encoded by `proto/`, for processes of the cluster. */
const FAULT_TRAILER = 'fault-bin';

/**
 * Whether the answering process must log an error: a bug, or a failure whose cause is not sent to
 * the caller's process.
 */
export function losesItsCause(error: unknown): boolean {
  return !(error instanceof Fault) || (error.cause !== undefined && error.httpStatus >= 500);
}

/** Encodes a fault. Its cause stays in this process. */
export function faultToWire(fault: Fault): WireFault {
  return {
    code: fault.code,
    message: fault.message.slice(0, FAULT_TEXT_LENGTH_MAX),
    reason: fault.reason ?? '',
    field: fault.field?.slice(0, FAULT_TEXT_LENGTH_MAX),
    retryAfterS: fault.retryAfterS,
    outcomeUnknown: fault.isOutcomeUnknown,
    owner: fault.owner,
  };
}

/**
 * Decodes a peer's fault. A reason that only a later release has is dropped, because the code is
 * sufficient. Throws `internal` if the code is not in `FAULTS`.
 */
export function faultFromWire(wire: WireFault): Fault {
  const { code, message, reason, field, retryAfterS, outcomeUnknown, owner } = wire;
  if (!isCode(code)) throw brokenMessage('fault code');
  if (field !== undefined) trustText(field, 0, FAULT_TEXT_LENGTH_MAX, 'fault field');
  return new Fault(code, trustText(message, 0, FAULT_TEXT_LENGTH_MAX, 'fault message'), {
    reason: isReason(reason) ? reason : undefined,
    field,
    retryAfterS,
    isOutcomeUnknown: outcomeUnknown,
    owner: owner && ownerFromWire(owner),
  });
}

/** gRPC status of an error in a unary call. Its details are `code: message`, for people. */
export function statusOfError(error: unknown): Partial<StatusObject> {
  const fault = toFault(error);
  const metadata = new Metadata();
  const bytes = WireFault.encode(faultToWire(fault)).finish();
  metadata.set(FAULT_TRAILER, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return { code: FAULTS[fault.code].grpc, details: `${fault.code}: ${fault.message}`, metadata };
}

/** Fault in the trailer of a status. Undefined if `statusOfError` did not create the status. */
export function faultOfStatus({ metadata }: ServiceError): Fault | undefined {
  const [bytes] = metadata?.get(FAULT_TRAILER) ?? [];
  if (!Buffer.isBuffer(bytes)) return undefined;
  try {
    return faultFromWire(WireFault.decode(bytes));
  } catch {
    return undefined;
  }
}

function ownerFromWire({ incarnation, address, epoch }: ShardOwner): ShardOwner {
  return {
    incarnation: trustText(incarnation, 1, OWNER_TEXT_LENGTH_MAX, 'incarnation'),
    address: trustHostPort(address, 'address of an owner'),
    epoch: trustInteger(epoch, 1, Number.MAX_SAFE_INTEGER, 'epoch'),
  };
}

function isCode(code: string): code is FaultCode {
  return Object.hasOwn(FAULTS, code);
}

function isReason(reason: string): reason is FaultReason | PeerReason {
  return Object.hasOwn(REASONS, reason) || Object.hasOwn(PEER_REASONS, reason);
}
