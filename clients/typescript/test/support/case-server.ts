import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { VERSION } from '../../src/version.ts';
import { FakeServer, type Reaction, type Received } from './fake-server.ts';
import type { Exchange, WireCase } from './wire-case.ts';

/** Server that answers the requests of a case in order, and records wrong requests. */
export class CaseServer implements AsyncDisposable {
  readonly #server: FakeServer;
  readonly #case: WireCase;
  readonly #faults: unknown[];

  private constructor(server: FakeServer, played: WireCase, faults: unknown[]) {
    this.#server = server;
    this.#case = played;
    this.#faults = faults;
  }

  /** Starts a server on a free port for a case. */
  static async start(played: WireCase): Promise<CaseServer> {
    const faults: unknown[] = [];
    const keys = new Set<string>();
    const reactions: Reaction[] = played.exchanges.map((exchange) => async (response, received) => {
      try {
        check(exchange, received, played.key, keys);
      } catch (fault) {
        faults.push(fault);
      }
      await react(exchange.answer, response);
    });
    const tooMany: Reaction = (response, { method, path }) => {
      faults.push(new Error(`one request too many: ${method} ${path}`));
      response.writeHead(404).end();
    };
    return new CaseServer(await FakeServer.start(...reactions, tooMany), played, faults);
  }

  get baseUrl(): string {
    return this.#server.baseUrl;
  }

  /** Throws if a request was wrong, missing or unexpected. */
  assertPlayed(): void {
    if (this.#faults.length > 0) throw this.#faults[0];
    assert.is(this.#server.received.length, this.#case.exchanges.length, 'number of requests');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

/** Name and version of this client. */
const CLIENT = `identity-engine-typescript/${VERSION}`;

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function check({ request }: Exchange, received: Received, key: string, keys: Set<string>): void {
  const url = new URL(received.path, 'http://of.a.test');
  assert.equal([received.method, url.pathname], [request.method, request.path]);
  assert.equal(Object.fromEntries(url.searchParams), request.query, 'query');
  assert.is(received.headers['authorization'], `Bearer ${key}`);
  for (const [name, value] of Object.entries(request.headers)) {
    const present = received.headers[name];
    if (value === '{uuid7}') {
      assert.match(present ?? '', UUID7, name);
      assert.is(keys.add(present ?? '').size, 1, 'each attempt has the same key');
    } else {
      assert.is(present ?? null, value?.replace('{client}', CLIENT) ?? null, name);
    }
  }
  assert.equal(received.body, request.body, 'body');
}

async function react(answer: Exchange['answer'], response: ServerResponse): Promise<void> {
  if (answer === 'silence') return;
  if (answer === 'close') {
    response.socket?.destroy();
    return;
  }
  response.writeHead(answer.status, { ...answer.headers });
  if (answer.chunks === undefined) {
    response.end(answer.text ?? (answer.body === undefined ? '' : JSON.stringify(answer.body)));
    return;
  }
  for (const chunk of answer.chunks) {
    await new Promise<unknown>((resolve) => response.write(chunk, resolve));
    await turn();
  }
  if (answer.after === 'end') response.end();
  if (answer.after === 'cut') response.socket?.destroy();
}
