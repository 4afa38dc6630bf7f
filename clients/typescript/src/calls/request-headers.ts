import { IdentityEngineError } from '../errors.ts';

/** Extra request headers by name. Names are case-insensitive. */
export type ExtraHeaders = Readonly<Record<string, string>>;

const OF_HTTP = 'the client sets this header itself';
const OF_TRACING = 'register an OpenTelemetry propagator instead';

/** Headers that are no extra headers, each with what to do instead. */
const OWN_HEADERS: ReadonlyMap<string, string> = new Map([
  ['authorization', 'use the option apiKey'],
  ['user-agent', 'use the option application'],
  ['idempotency-key', 'use the option idempotencyKey'],
  ['if-match', 'use the option ifMatch'],
  ['if-none-match', 'use the option ifNoneMatch'],
  ['last-event-id', 'use the option after of events()'],
  ['prefer', 'use the option strict'],
  ['x-request-id', 'use the option requestId'],
  ['traceparent', OF_TRACING],
  ['tracestate', OF_TRACING],
  ['proxy-authorization', "put the password into the proxy's address"],
  ...[
    ...['accept', 'accept-encoding', 'connection', 'content-encoding', 'content-length'],
    ...['content-type', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding'],
    'upgrade',
  ].map((name): [string, string] => [name, OF_HTTP]),
]);

/** Characters of a token (RFC 9110 5.6.2), such as a header name. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const HEADER_NAME = new RegExp(`^${TOKEN}$`);

/** Accepted header values: printable ASCII, at least one character, no space at either end. */
const HEADER_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * Checks extra headers and returns them with lower-case names. Throws an `IdentityEngineError` for
 * a header that the client sets itself, a repeated name, or an invalid name or value.
 */
export function extraHeaders(given: ExtraHeaders): Record<string, string> {
  const names = new Set<string>();
  const pairs = Object.entries(given).map(([written, value]): [string, string] => {
    const name = written.toLowerCase();
    const instead = OWN_HEADERS.get(name);
    if (instead !== undefined) {
      throw new IdentityEngineError(`${written} is no extra header: ${instead}`);
    }
    if (!HEADER_NAME.test(name)) {
      throw new IdentityEngineError(`invalid header name: ${JSON.stringify(written)}`);
    }
    if (names.has(name)) throw new IdentityEngineError(`the header ${name} is given twice`);
    names.add(name);
    return [name, value];
  });
  const headers = Object.fromEntries(pairs);
  assertCarried(headers);
  return headers;
}

/** Throws an `IdentityEngineError` for a value that a header cannot carry. */
export function assertCarried(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && HEADER_VALUE.test(value)) continue;
    const text = `the header ${name} has an invalid value: ${JSON.stringify(value)}`;
    throw new IdentityEngineError(text);
  }
}

/** Maximum length of an application name: a header line of some services ends at 256. */
const APPLICATION_CHARACTERS_MAX = 200;

/** Products with optional versions, separated by spaces (RFC 9110 10.1.5). */
const APPLICATION = new RegExp(`^${TOKEN}(?:/${TOKEN})?(?: ${TOKEN}(?:/${TOKEN})?)*$`);

/** Throws an `IdentityEngineError` for an invalid application name. Otherwise returns the name. */
export function assertApplication(application: string): string {
  const isShort = application.length <= APPLICATION_CHARACTERS_MAX;
  if (isShort && APPLICATION.test(application)) return application;
  throw new IdentityEngineError(
    `application must be a name like my-game/2.1 of at most ${APPLICATION_CHARACTERS_MAX} ` +
      `characters, not ${JSON.stringify(application)}`,
  );
}
