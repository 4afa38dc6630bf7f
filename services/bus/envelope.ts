import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { isSignedBy, SENDER_SIGNATURE_BYTES, type SenderKey } from '#bus/sender-key';

/** What a signed message says besides its content. */
export type Envelope = {
  /** One opened bus of a process: the name of its key. */
  readonly incarnation: string;
  /** Id of the sender's cluster; `NO_CLUSTER` of a process that does not know one yet. */
  readonly cluster: string;
  /** Above that of every earlier message of the incarnation, on whatever subject. */
  readonly sequence: number;
  /** The sender's wall clock, in Unix milliseconds. */
  readonly sentAtMs: number;
};

/** What a message is sealed with. */
type Seal = {
  /** Of the cluster's secret: says that a process of the cluster speaks. */
  readonly macKey: Buffer;
  /** Of this process alone: says which one. */
  readonly sender: SenderKey;
};

/**
 * What became of reading a message: `unsigned` has no envelope, `version` one of another release's
 * form, `signature` one of another secret, `forged` one of a process that gives the name of another.
 */
export type Opened =
  | { readonly kind: 'unsigned' | 'version' | 'signature' | 'forged' }
  | { readonly kind: 'signed'; readonly envelope: Envelope; readonly content: Uint8Array };

/** Stands for the cluster of a process that does not know it. */
export const NO_CLUSTER = '-';

/** Bytes of a message that is looked at at all: the largest heartbeat and its envelope. */
const SIGNED_BYTES_MAX = 65 * 1_024;

/** Bytes of the longest first line. */
const HEADER_BYTES_MAX = 400;

/** Separates this use of the cluster's secret from every other, and this form from later ones. */
const KEY_LABEL = 'identity-engine bus signature 2';
const KEY_BYTES = 32;

const VERSION = 'signed2';
const HEADER =
  /^signed2 (?<incarnation>[0-9a-f]{64}) (?<cluster>[\w.-]{1,100}) (?<sequence>\d{1,16}) (?<sentAtMs>\d{1,16}) (?<signature>[A-Za-z0-9_-]{86}) (?<mac>[A-Za-z0-9_-]{43})$/;

/** How a message begins whose form is a later, or an earlier one. */
const OTHER_VERSION = /^signed\d{1,4} /;

const NEWLINE = 10;

/** The key that signs bus messages under a cluster secret: HKDF with a label of its own (RFC 5869). */
export function busKeyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', KEY_LABEL, KEY_BYTES));
}

/**
 * A message in its envelope: one line of text, so that `nats sub` shows who sent what when, then
 * the content as it is.
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

/** Reads a message that was heard on `subject`. Never throws. */
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
  // The secret first: a sender that does not know it costs no more than that.
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

/** Neither a subject nor a header holds a line's end, so no two messages are signed alike. */
function signedBytes(subject: string, header: string, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${subject}\n${header}\n`), content]);
}

/** As text: of that there is only one for the same bytes. */
function macOf(key: Buffer, bytes: Uint8Array): Buffer {
  return Buffer.from(createHmac('sha256', key).update(bytes).digest('base64url'));
}
