/** A received answer with its headers in order. */
export type RawAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

/** Answers in a connection's bytes, and bytes that are no answer. */
export type ReadAnswers = {
  /** Final answers, without interim answers (1xx). */
  readonly answers: readonly RawAnswer[];
  /** Bytes after the last complete answer. */
  readonly rest: Buffer;
};

/** Splits the bytes from a connection into answers, by `Content-Length`. */
export function readAnswers(bytes: Buffer, isHeadOnly: boolean): ReadAnswers {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  for (let taken = take(rest, isHeadOnly); taken !== undefined; taken = take(rest, isHeadOnly)) {
    rest = rest.subarray(taken.length);
    if (taken.answer.status >= 200) answers.push(taken.answer);
  }
  return { answers, rest };
}

/** Whether an answer announces the end of its connection (RFC 9112, 9.6). */
export function isLast(answer: RawAnswer | undefined): boolean {
  return /\bclose\b/i.test(answer?.headers.get('connection') ?? '');
}

/** First answer and its length in bytes; undefined if incomplete or invalid. */
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
