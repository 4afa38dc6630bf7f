import type { Request } from '#test/fuzz/request';
import type { SeededRandom } from '#test/simulation/seeded-random';

/** A step on a connection. */
type Step =
  | { readonly kind: 'write'; readonly bytes: Buffer }
  /** Waits, so that the service reads the writes separately. */
  | { readonly kind: 'turn' }
  /** Ends the client's side of the connection, and still reads answers. */
  | { readonly kind: 'end' }
  /** Closes the connection without reading answers. */
  | { readonly kind: 'cut' };

/** Bytes for one connection, and the expected result. */
export type Script = {
  readonly steps: readonly Step[];
  /** Number of expected answers; undefined if a request is broken, unfinished or cut off. */
  readonly answers: number | undefined;
  /** Whether the single answer has no body. */
  readonly isHeadOnly: boolean;
};

/** Broken framings: heads and bodies that do not match, or are invalid. */
const BROKEN: readonly ((head: string, body: Buffer, random: SeededRandom) => string | Buffer)[] = [
  (head, body) => joined(head, `Content-Length: ${body.length + 7}`, body),
  (head, body) => joined(head, `Content-Length: ${Math.max(0, body.length - 3)}`, body),
  (head, body) => joined(head, 'Content-Length: 4\r\nContent-Length: 5', body),
  (head, body) => joined(head, 'Content-Length: +4', body),
  (head, body) => joined(head, 'Content-Length: 99999999999999999999', body),
  (head) => joined(head, 'Content-Length: 4\r\nTransfer-Encoding: chunked', '0\r\n\r\n'),
  (head) => joined(head, 'Transfer-Encoding: xchunked', '0\r\n\r\n'),
  (head) => joined(head, 'Transfer-Encoding: chunked, identity', '0\r\n\r\n'),
  (head) => joined(head, 'Transfer-Encoding: chunked', 'ZZ\r\n{}\r\n0\r\n\r\n'),
  (head) => joined(head, 'Transfer-Encoding: chunked', 'ffffffffffffffffff\r\n{}'),
  (head) => joined(head, 'Transfer-Encoding: chunked', '2\r\n{}'),
  (head) => joined(head, 'Transfer-Encoding: chunked', '2\r\n{}\n0\n\n'),
  (head) => joined(head, 'X-Folded: a\r\n b', ''),
  (head) => joined(head, 'X-Space : a', ''),
  (head) => joined(head, 'X-Nul: a\0b', ''),
  (head) => joined(head, ': none', ''),
  (head) => joined(head, `X-Long: ${'x'.repeat(9_000)}`, ''),
  (head) => joined(head, Array.from({ length: 300 }, (_, i) => `X-${i}: y`).join('\r\n'), ''),
  (head) => `${head.replaceAll('\r\n', '\n')}\n\n`,
  (head) => `${head.replace('HTTP/1.1', 'HTTP/1.0')}\r\n\r\n`,
  (head) => `${head.replace(' HTTP/1.1', '')}\r\n\r\n`,
  (head) => `${head.replace('HTTP/1.1', 'HTTP/9.9')}\r\n\r\n`,
  (head) => `${head.toLowerCase()}\r\n\r\n`,
  (head) => head,
  () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  () => 'CONNECT localhost:80 HTTP/1.1\r\nHost: x\r\n\r\n',
  () => Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]),
  (_, __, random) => Buffer.from(Array.from({ length: 200 }, () => random.uint32() >>> 24)),
];

/** Splits the requests' bytes into writes, and chooses how the connection ends. */
export function scriptOf(requests: readonly Request[], random: SeededRandom): Script {
  const isBroken = random.happens(0.25);
  const parts = requests.map((request) => bytesOf(request, random));
  const [last] = requests.slice(-1);
  if (isBroken && last !== undefined) {
    const wrong = random.pick(BROKEN)(headOf(last), last.body ?? Buffer.alloc(0), random);
    parts[parts.length - 1] = Buffer.from(wrong as string, 'latin1');
  }
  const whole = Buffer.concat(parts);
  const isCut = random.happens(0.05);
  const isUnfinished = random.happens(0.05);
  const sent = isUnfinished ? whole.subarray(0, random.whole(1, whole.length)) : whole;
  const steps = writesOf(sent, random);
  // After broken data, end the connection. Otherwise the test would wait for a timeout.
  if (isCut) steps.push({ kind: 'cut' });
  else if (isBroken || isUnfinished) steps.push({ kind: 'end' });
  const isHeadOnly = requests.length === 1 && requests[0]?.method === 'HEAD';
  const answers = isBroken || isUnfinished || isCut ? undefined : requests.length;
  return { steps, answers, isHeadOnly };
}

function writesOf(bytes: Buffer, random: SeededRandom): Step[] {
  const steps: Step[] = [];
  const cuts = random.happens(0.5) ? random.whole(1, 6) : 0;
  const places = Array.from({ length: cuts }, () => random.whole(0, bytes.length));
  let from = 0;
  for (const to of [...places.toSorted((a, b) => a - b), bytes.length]) {
    if (to > from) steps.push({ kind: 'write', bytes: bytes.subarray(from, to) }, { kind: 'turn' });
    from = to;
  }
  return steps;
}

/** Request line and headers, without framing headers and the empty line. */
function headOf({ method, target, headers }: Request): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${target} HTTP/1.1`, ...lines].join('\r\n');
}

function bytesOf(request: Request, random: SeededRandom): Buffer {
  const { body } = request;
  const head = headOf(request);
  if (body === undefined) return Buffer.from(`${head}\r\n\r\n`, 'latin1');
  if (!random.happens(0.3)) return joined(head, `Content-Length: ${body.length}`, body);
  const chunks: Buffer[] = [];
  for (let from = 0; from < body.length; ) {
    const chunk = body.subarray(from, from + random.whole(1, body.length));
    const extension = random.happens(0.1) ? ';a=b' : '';
    chunks.push(Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`), chunk, CRLF);
    from += chunk.length;
  }
  const trailers = random.happens(0.2) ? 'X-Trailer: a\r\n' : '';
  chunks.push(Buffer.from(`0\r\n${trailers}\r\n`));
  return joined(head, 'Transfer-Encoding: chunked', Buffer.concat(chunks));
}

const CRLF = Buffer.from('\r\n');

function joined(head: string, framing: string, body: string | Buffer): Buffer {
  const tail = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
  return Buffer.concat([Buffer.from(`${head}\r\n${framing}\r\n\r\n`, 'latin1'), tail]);
}
