import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What a signed message says besides its content. */
export type Envelope = {
  /** One opened bus of a process. */
  readonly incarnation: string;
  /** Id of the sender's cluster; `NO_CLUSTER` of a process that does not know one yet. */
  readonly cluster: string;
  /** Above that of every earlier message of the incarnation, on whatever subject. */
  readonly sequence: number;
  /** The sender's wall clock, in Unix milliseconds. */
  readonly sentAtMs: number;
};

/** What became of reading a message: `unsigned` has no envelope, `signature` one of another secret. */
export type Opened =
  | { readonly kind: 'unsigned' | 'signature' }
  | { readonly kind: 'signed'; readonly envelope: Envelope; readonly content: Uint8Array };

/** Stands for the cluster of a process that does not know it. */
export const NO_CLUSTER = '-';

/** Bytes of a message that is looked at at all: the largest heartbeat and its envelope. */
const SIGNED_BYTES_MAX = 65 * 1_024;

/** Bytes of the longest first line. */
const HEADER_BYTES_MAX = 400;

/** Tells this use of the cluster's secret from every other, and this form from later ones. */
const KEY_LABEL = 'identity-engine bus signature 1';
const KEY_BYTES = 32;

const VERSION = 'signed1';
const HEADER =
  /^signed1 (?<incarnation>[0-9a-f]{32}) (?<cluster>[\w.-]{1,100}) (?<sequence>\d{1,16}) (?<sentAtMs>\d{1,16}) (?<mac>[A-Za-z0-9_-]{43})$/;

const NEWLINE = 10;

/** The key that signs bus messages under a cluster secret: HKDF with a label of its own (RFC 5869). */
export function busKeyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', KEY_LABEL, KEY_BYTES));
}

/**
 * A message in its envelope: one line of text, so that `nats sub` shows who sent what when, then the
 * content as it is.
 */
export function sealMessage(
  key: Buffer,
  subject: string,
  envelope: Envelope,
  content: Uint8Array,
): Uint8Array {
  const header = headerOf(envelope);
  const mac = macOf(key, subject, header, content).toString('base64url');
  return Buffer.concat([Buffer.from(`${header} ${mac}\n`), content]);
}

/** Reads a message that was heard on `subject`. Never throws. */
export function openMessage(keys: readonly Buffer[], subject: string, message: Uint8Array): Opened {
  if (message.length > SIGNED_BYTES_MAX) return { kind: 'unsigned' };
  const end = message.subarray(0, HEADER_BYTES_MAX).indexOf(NEWLINE);
  const line = Buffer.from(message.subarray(0, Math.max(0, end))).toString('latin1');
  const { incarnation = '', cluster = '', mac = '', ...numbers } = HEADER.exec(line)?.groups ?? {};
  const [sequence, sentAtMs] = [Number(numbers['sequence']), Number(numbers['sentAtMs'])];
  if (!Number.isSafeInteger(sequence) || !Number.isSafeInteger(sentAtMs)) {
    return { kind: 'unsigned' };
  }
  const content = message.subarray(end + 1);
  const claimed = Buffer.from(mac, 'base64url');
  const header = line.slice(0, line.lastIndexOf(' '));
  for (const key of keys) {
    if (!timingSafeEqual(macOf(key, subject, header, content), claimed)) continue;
    return { kind: 'signed', envelope: { incarnation, cluster, sequence, sentAtMs }, content };
  }
  return { kind: 'signature' };
}

function headerOf({ incarnation, cluster, sequence, sentAtMs }: Envelope): string {
  return `${VERSION} ${incarnation} ${cluster} ${sequence} ${sentAtMs}`;
}

/** Neither a subject nor a header holds a line's end, so no two messages are signed alike. */
function macOf(key: Buffer, subject: string, header: string, content: Uint8Array): Buffer {
  return createHmac('sha256', key).update(`${subject}\n${header}\n`).update(content).digest();
}
