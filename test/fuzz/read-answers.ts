/** An answer as it came, with every header in its turn. */
export type RawAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

/** What a connection's bytes are, and whether anything is left that is no answer. */
export type ReadAnswers = {
  /** Final answers; interim ones (1xx) are left out. */
  readonly answers: readonly RawAnswer[];
  /** Bytes behind the last whole answer. */
  readonly rest: Buffer;
};

/** Reads answers off a connection's bytes by their `Content-Length`. */
export function readAnswers(bytes: Buffer, isHeadOnly: boolean): ReadAnswers {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  for (let taken = take(rest, isHeadOnly); taken !== undefined; taken = take(rest, isHeadOnly)) {
    rest = rest.subarray(taken.length);
    if (taken.answer.status >= 200) answers.push(taken.answer);
  }
  return { answers, rest };
}

/** Whether an answer says that it is the last one of its connection (RFC 9112, 9.6). */
export function isLast(answer: RawAnswer | undefined): boolean {
  return /\bclose\b/i.test(answer?.headers.get('connection') ?? '');
}

/** The first answer with its length in bytes; undefined if it is not whole, or none. */
function take(bytes: Buffer, isHeadOnly: boolean) {
  const headEnd = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(statusLine) ?? [];
  if (headEnd === -1 || status === undefined) return undefined;
  const pairs = lines.map((line) => /^([!-9;-~]+):[ \t]*(.*)$/.exec(line)?.slice(1));
  if (pairs.some((pair) => pair === undefined)) return undefined;
  const headers = new Headers(pairs as [string, string][]);
  const start = headEnd + 4;
  const length = start + (isHeadOnly ? 0 : Number(headers.get('content-length') ?? 0));
  if (bytes.length < length) return undefined;
  const text = bytes.toString('utf8', start, length);
  return { answer: { status: Number(status), headers, text }, length };
}
