import { request } from 'node:http';
import * as assert from 'uvu/assert';
import { EventReader } from '#test/support/calls/event-reader';

/** Answer to a browser. For a refusal, `data` is the whole body. */
export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly data: Record<string, unknown>;
  readonly error: string | undefined;
  readonly reason: string | undefined;
  /** The whole JSON body. */
  readonly body: ReturnType<typeof JSON.parse>;
};

/** A browser on a page of the console. Keeps cookies and sends its true origin. */
export class Browser {
  readonly #address: string;
  readonly #origin: string;
  readonly #from: string;
  readonly cookies = new Map<string, string>();

  constructor(address: string, { origin, from }: { origin: string; from: string }) {
    this.#address = address;
    this.#origin = origin;
    this.#from = from;
  }

  /**
   * Sends a request as a page would. `headers` replace default headers; undefined removes a header.
   */
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Reply> {
    const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
    const cookie = this.#cookie();
    const own: Record<string, string | undefined> = {
      host: new URL(this.#origin).host,
      cookie: cookie === '' ? undefined : cookie,
      'x-forwarded-for': this.#from,
      'user-agent': 'a browser',
      ...(method === 'GET'
        ? {}
        : {
            origin: this.#origin,
            'sec-fetch-site': 'same-origin',
            'content-type': 'application/json',
            'content-length': String(Buffer.byteLength(text)),
          }),
      ...headers,
    };
    const given = Object.entries(own).filter(([, value]) => value !== undefined);
    const reply = await exchange(`${this.#address}/api${path}`, method, given, text);
    for (const line of setCookies(reply)) this.#keep(line);
    return reply;
  }

  /** Sends a request whose answer must have this status. */
  async expect(status: number, method: string, path: string, body?: unknown): Promise<Reply> {
    const reply = await this.send(method, path, body);
    assert.is(reply.status, status, `${method} ${path}: ${JSON.stringify(reply.data)}`);
    return reply;
  }

  /** Opens a stream of events as a page does; `headers` are added to the default headers. */
  async follow(path: string, headers: Readonly<Record<string, string>> = {}): Promise<EventReader> {
    const own = { cookie: this.#cookie(), 'x-forwarded-for': this.#from, ...headers };
    return EventReader.of(await fetch(`${this.#address}/api${path}`, { headers: own }));
  }

  /** Signs in with a password, and returns the answer even if it is a refusal. */
  signIn(email: string, password: string, accountId?: string): Promise<Reply> {
    const account = accountId === undefined ? {} : { account_id: accountId };
    return this.send('POST', '/sign-in', { email, password, ...account });
  }

  #cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '') this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

/** The `set-cookie` lines of an answer. */
export function setCookies({ headers }: Reply): string[] {
  return [headers['set-cookie'] ?? []].flat();
}

function exchange(
  url: string,
  method: string,
  headers: readonly (readonly [string, string | undefined])[],
  text: string,
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const sent = request(url, { method, agent: false, setHost: false }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => void chunks.push(chunk));
    response.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const isJson = /^application\/json/.test(response.headers['content-type'] ?? '');
      const parsed = isJson ? JSON.parse(body) : { data: { text: body } };
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        data: parsed.data ?? parsed,
        error: parsed.error,
        reason: parsed.details?.reason,
        body: isJson ? parsed : undefined,
      });
    });
  });
  for (const [name, value] of headers) if (value !== undefined) sent.setHeader(name, value);
  sent.on('error', reject);
  sent.end(text);
  return promise;
}
