import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { isSignedBy, SENDER_SIGNATURE_BYTES, type SenderKey } from '#bus/sender-key';

/** Header fields of a signed message. */
export type Envelope = {
  /** Id of the sender's opened bus: its public key. */
  readonly incarnation: string;
  /** Id of the sender's cluster, or `NO_CLUSTER` if the sender does not know its cluster yet. */
  readonly cluster: string;
  /** Larger than in every earlier message of the incarnation, across all subjects. */
  readonly sequence: number;
  /** Sender's wall clock, in Unix milliseconds. */
  readonly sentAtMs: number;
};

/** Keys that seal a message. */
type Seal = {
  /** Derived from the cluster's secret. Proves that a process of the cluster is the sender. */
  readonly macKey: Buffer;
  /** Private key of this process. Proves which process is the sender. */
  readonly sender: SenderKey;
};

/**
 * Result of reading a message. `unsigned`: no envelope. `version`: envelope format of another
 * release. `signature`: sealed with another secret. `forged`: not signed by the named sender.
 */
export type Opened =
  | { readonly kind: 'unsigned' | 'version' | 'signature' | 'forged' }
  | { readonly kind: 'signed'; readonly envelope: Envelope; readonly content: Uint8Array };

/** Placeholder for the cluster id of a process that does not know its cluster. */
export const NO_CLUSTER = '-';

/** Maximum size of a message, in bytes: the largest heartbeat and its envelope. */
const SIGNED_BYTES_MAX = 65 * 1_024;

/** Maximum size of the header line, in bytes. */
const HEADER_BYTES_MAX = 400;

/**
 * HKDF label that separates this key from other uses of the cluster's secret, and this format from
 * later formats.
 */
const KEY_LABEL = 'identity-engine bus signature 2';
const KEY_BYTES = 32;

const VERSION = 'signed2';
const HEADER =
  /^signed2 (?<incarnation>[0-9a-f]{64}) (?<cluster>[\w.-]{1,100}) (?<sequence>\d{1,16}) (?<sentAtMs>\d{1,16}) (?<signature>[A-Za-z0-9_-]{86}) (?<mac>[A-Za-z0-9_-]{43})$/;

/** Start of a message in an earlier or later format. */
const OTHER_VERSION = /^signed\d{1,4} /;

const NEWLINE = 10;

/**
 * Key that authenticates bus messages under a cluster secret: HKDF with its own label (RFC 5869).
 */
export function busKeyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', KEY_LABEL, KEY_BYTES));
}

/**
 * Puts a message into its envelope: a header line, then the unchanged content. The header is text,
 * so that `nats sub` shows sender and time.
 */
export function sealMessage(
  { macKey, sender }: Seal,
  subject: string,
  said: Omit<Envelope, 'incarnation'>,
  content: Uint8Array,
): Uint8Array {
  const header = headerOf({ ...said, incarnation: sender.name });
  const signature = sender.sign(signedBytes(subject, header, content)).toString('base64url');
  const signed = `${header} ${signature}`;
  const mac = macOf(macKey, signedBytes(subject, signed, content));
  return Buffer.concat([Buffer.from(`${signed} ${mac}\n`), content]);
}

/** Verifies and reads a message that was received on `subject`. Never throws. */
export function openMessage(keys: readonly Buffer[], subject: string, message: Uint8Array): Opened {
  if (message.length > SIGNED_BYTES_MAX) return { kind: 'unsigned' };
  const end = message.subarray(0, HEADER_BYTES_MAX).indexOf(NEWLINE);
  const line = Buffer.from(message.subarray(0, Math.max(0, end))).toString('latin1');
  const groups = HEADER.exec(line)?.groups ?? {};
  const { incarnation = '', cluster = '', signature = '', mac = '', ...numbers } = groups;
  const [sequence, sentAtMs] = [Number(numbers['sequence']), Number(numbers['sentAtMs'])];
  if (!Number.isSafeInteger(sequence) || !Number.isSafeInteger(sentAtMs)) {
    const isOther = OTHER_VERSION.test(line) && !line.startsWith(`${VERSION} `);
    return { kind: isOther ? 'version' : 'unsigned' };
  }
  const content = message.subarray(end + 1);
  // Check the MAC first. A sender without the secret then costs no signature check.
  const vouched = signedBytes(subject, line.slice(0, line.lastIndexOf(' ')), content);
  const claimed = Buffer.from(mac);
  if (!keys.some((key) => timingSafeEqual(macOf(key, vouched), claimed))) {
    return { kind: 'signature' };
  }
  const envelope = { incarnation, cluster, sequence, sentAtMs };
  const own = signedBytes(subject, headerOf(envelope), content);
  const signed = Buffer.from(signature, 'base64url');
  if (signed.length !== SENDER_SIGNATURE_BYTES) return { kind: 'forged' };
  if (!isSignedBy(incarnation, own, signed)) return { kind: 'forged' };
  return { kind: 'signed', envelope, content };
}

function headerOf({ incarnation, cluster, sequence, sentAtMs }: Envelope): string {
  return `${VERSION} ${incarnation} ${cluster} ${sequence} ${sentAtMs}`;
}

/** Bytes to sign. Subjects and headers contain no line feed, so the encoding is unambiguous. */
function signedBytes(subject: string, header: string, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${subject}\n${header}\n`), content]);
}

/** MAC as base64url text, which is the same for the same bytes. */
function macOf(key: Buffer, bytes: Uint8Array): Buffer {
  return Buffer.from(createHmac('sha256', key).update(bytes).digest('base64url'));
}
