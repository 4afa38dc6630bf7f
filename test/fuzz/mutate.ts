import type { Party } from '#test/fuzz/party';
import type { Request } from '#test/fuzz/request';
import type { SeededRandom } from '#test/simulation/seeded-random';

type Mutation = (request: Request, random: SeededRandom, others: readonly Party[]) => void;

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'];

/** Invalid path segments. */
const PATH_PIECES = [
  ...['//', '/.', '/..', '/%2f', '/%2e%2e', '/%00', '/%zz', '/%ff', ';x=y', '%20', '\\', '/*'],
  ...['?', '?limit=0', '?limit=1e9', '?offset=-1', '?x', '?limit=1&limit=2', '?__proto__=1'],
  ...['?sort[]=name', '#x', '?%zz', `/${'a'.repeat(300)}`, `?x=${'b'.repeat(3_000)}`],
];

const HEADERS: readonly (readonly [string, string])[] = [
  ['X-Request-Id', 'x'],
  ['X-Request-Id', 'x'.repeat(2_000)],
  ['If-Match', '*'],
  ['If-Match', '"snap_0000000000000000"'],
  ['If-Match', '"\u00ff'],
  ['If-None-Match', '*'],
  ['If-None-Match', 'W/"x", , "'],
  ['Idempotency-Key', ''],
  ['Idempotency-Key', 'k'.repeat(256)],
  ['Idempotency-Key', '\u00e9'],
  ['Prefer', 'handling=strict; x="y", ,return = minimal'],
  ['Content-Encoding', 'gzip'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', 'text/plain'],
  ['Content-Type', ';'],
  ['Accept', 'image/*'],
  ['Authorization', 'Basic eDp5'],
  ['Authorization', `Bearer svc_sk_${'0'.repeat(50)}`],
  ['Expect', '100-continue'],
  ['Expect', 'a-miracle'],
  ['Connection', 'close'],
  ['Connection', 'Upgrade, HTTP2-Settings'],
  ['Upgrade', 'h2c'],
  ['X-Forwarded-For', '10.0.0.1, unknown'],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Cookie', 'a=b; __proto__=c'],
  ['Host', 'second.example'],
  ['Range', 'bytes=0-1,5-'],
  ['Accept-Version', '2'],
  ['constructor', 'x'],
];

/** Texts to replace a JSON value. */
const VALUES = [
  ...['null', 'true', '-0', '1e999', '1e-400', '0x10', '01', '"', '""', '"\\ud800"', '"\u202e"'],
  ...['{}', '[]', '[[[]]]', '{"__proto__":{"a":1}}', '{"a":1,"a":2}', '123456789012345678901234'],
  ...['"2026-02-30T00:00:00Z"', '"9999-12-31T23:59:59Z"', '"1969-12-31T23:59:59Z"', 'NaN', ''],
  ...[`"${'x'.repeat(40_000)}"`, `${'['.repeat(2_000)}${']'.repeat(2_000)}`, '"a\\u0000b"'],
];

/** Bytes to insert into a body. The body then is no valid UTF-8 or no valid JSON. */
const BYTES = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0], [0xef, 0xbb, 0xbf], [0x22], [0x7d]];

const MUTATIONS: readonly Mutation[] = [
  (request, random) => {
    request.method = random.pick(METHODS);
  },
  (request, random) => {
    const { target } = request;
    const at = random.whole('/v1'.length, target.length);
    request.target = target.slice(0, at) + random.pick(PATH_PIECES) + target.slice(at);
  },
  (request, random, others) => {
    const foreign = random.pick(others.flatMap(({ ids }) => ids));
    request.target = request.target.replace(/inst_[0-9a-f]{16}/, foreign);
  },
  (request) => {
    request.target = `http://localhost${request.target}`;
  },
  (request, random) => {
    const [name, value] = random.pick(HEADERS);
    const known = request.headers.findIndex(([sent]) => sent === name);
    if (known >= 0 && random.happens(0.7)) request.headers[known] = [name, value];
    else request.headers.push([name, value]);
  },
  (request, random) => {
    request.headers.splice(random.whole(0, request.headers.length - 1), 1);
  },
  changeValue,
  (request, random) => {
    const { body } = request;
    if (body === undefined) return;
    const at = random.whole(0, body.length);
    const bytes = Buffer.from(random.pick(BYTES));
    request.body = Buffer.concat([body.subarray(0, at), bytes, body.subarray(at)]);
  },
  (request, random) => {
    request.body = request.body?.subarray(0, random.whole(0, request.body.length));
  },
  (request) => {
    request.body ??= Buffer.from('{}');
    request.headers.push(['Content-Type', 'application/json']);
  },
];

/** Applies up to three mutations to a request. The API must refuse most mutated requests. */
export function mutate(request: Request, random: SeededRandom, others: readonly Party[]): void {
  const times = random.whole(0, 3);
  for (let time = 0; time < times; time += 1) random.pick(MUTATIONS)(request, random, others);
}

/** Replaces a value in the body, or adds an unknown field. */
function changeValue(request: Request, random: SeededRandom): void {
  const text = request.body?.toString('latin1');
  if (text === undefined) return;
  const places = [...text.matchAll(/:("[^"]*"|[\d.e+-]+|true|false)/g)];
  if (places.length === 0) return;
  const { index, 0: found } = random.pick(places);
  const extra = random.happens(0.2) ? `,"${random.pick(['x', '__proto__', 'id'])}":1` : '';
  const changed = `:${random.pick(VALUES)}${extra}`;
  request.body = Buffer.from(text.slice(0, index) + changed + text.slice(index + found.length));
}
