import { Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { FAULTS, type FaultCode } from '#fault/error-codes';
import { type FaultReason, PEER_REASONS, type PeerReason, REASONS } from '#fault/error-reasons';
import { Fault, type ShardOwner, toFault } from '#fault/fault';
import { Fault as WireFault } from '#wire/gen/identity_engine/v1/stream';
import { brokenMessage, trustHostPort, trustInteger, trustText } from '#wire/tls';

/** Longest message or field path of a fault, in UTF-16 units: generous for a sentence. */
const FAULT_TEXT_LENGTH_MAX = 4_096;

/** Longest incarnation of an owner, in UTF-16 units. */
const OWNER_TEXT_LENGTH_MAX = 261;

/** Trailer of a refusal: the whole fault as `proto/` writes it, for processes of the cluster. */
const FAULT_TRAILER = 'fault-bin';

/**
 * Whether what a call failed with must be logged where it is refused: a bug, or a failure whose
 * cause the caller's process, which logs the refusal, does not get to see.
 */
export function losesItsCause(error: unknown): boolean {
  return !(error instanceof Fault) || (error.cause !== undefined && error.httpStatus >= 500);
}

/** A fault as it travels. Its cause stays in this process. */
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
 * A peer's fault, unchanged but for a reason that only a later release knows: its code says enough.
 * Throws `internal` when the code is not one of `FAULTS`.
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
