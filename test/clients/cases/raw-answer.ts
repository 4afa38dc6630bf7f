import type { Json } from '#test/clients/cases/wire-case';

/** Parses the single raw HTTP answer of a connection. */
export function answerIn(bytes: Buffer): {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
} {
  const [head = '', ...rest] = bytes.toString('utf8').split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const pairs = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const kept = pairs.filter(([name]) => !OF_CONNECTIONS.has(name)).sort();
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: Object.fromEntries(kept),
    body: JSON.parse(rest.join('\r\n\r\n')),
  };
}

/** Headers that describe the connection instead of the answer, or that differ in every run. */
export const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
]);
