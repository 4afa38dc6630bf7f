import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import type { ExampleService } from '#deploy/apidoc/example-service';
import { expectedOf } from '#test/clients/cases/expected-of';
import { OF_CONNECTIONS } from '#test/clients/cases/raw-answer';
import { ANY_KEY, requestOfCall } from '#test/clients/cases/request-of-call';
import type {
  Call,
  Exchange,
  Json,
  Origin,
  WireAnswer,
  WireCase,
  WireRequest,
} from '#test/clients/cases/wire-case';

/** Returns a UUIDv7 of the recording's day that ends in this number. */
const keyNumber = (number: number) => `019bc155-2a00-7c3e-9a41-${String(number).padStart(12, '0')}`;

/** Parts of a case besides its call. */
export type Parts = {
  readonly origin?: Origin;
  /** API key of another account. */
  readonly key?: string;
  readonly client?: Record<string, Json>;
  /** Answers before the service's answer. */
  readonly before?: readonly WireAnswer[];
  /** Answer that replaces the service's answer. */
  readonly instead?: WireAnswer;
  /** Additional expectations. */
  readonly expect?: Record<string, Json>;
  /** Address of another edge, in place of the tape's edge. */
  readonly edge?: string;
};

/** A request that no client sends, for an answer that clients may receive. */
export type OddRequest = {
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly query?: string;
};

/** Makes calls to the service and records the traffic. */
export class Tape {
  readonly cases: WireCase[] = [];
  readonly service: ExampleService;
  readonly url: string;
  readonly key: string;
  #requests = 0;
  #keys = 0;

  /** `url`: address of the service. `key`: API key of the calling account. */
  constructor(service: ExampleService, url: string, key: string) {
    this.service = service;
    this.url = url;
    this.key = key;
  }

  /** Returns a new idempotency key in the client's format. */
  newKey(): string {
    this.#keys += 1;
    return keyNumber(this.#keys);
  }

  /** Makes a call, adds a case, and returns the answer's data. */
  async record(name: string, call: Call, parts: Parts = {}): Promise<Json> {
    const { key = this.key, before = [], client, expect = {}, origin = 'recorded' } = parts;
    const request = requestOfCall(call, client);
    const answer = parts.instead ?? (await this.ask(request, key, {}, parts.edge));
    const exchanges = [...before, answer].map((each) => ({ request, answer: each }));
    const expected = { ...expectedOf(call, exchanges), ...expect };
    this.keep({
      ...{ name, origin, key },
      ...(client === undefined ? {} : { client }),
      ...{ call, exchanges, expect: expected },
    });
    return typeof answer === 'string' ? undefined : answer.body?.data;
  }

  /** Adds a case. */
  keep(made: WireCase): void {
    assert.ok(!this.cases.some(({ name }) => name === made.name), `two cases: ${made.name}`);
    this.cases.push(made);
  }

  /** Makes a call outside the recording, and returns the answer's data. */
  async play(call: Call, key = this.key): Promise<Json> {
    const answer = await this.ask(requestOfCall(call), key);
    assert.ok(answer.status < 400, JSON.stringify(answer));
    return answer.body?.data;
  }

  /** Makes a call outside the recording, and returns request and answer. */
  async exchange(call: Call, key = this.key): Promise<Exchange> {
    const request = requestOfCall(call);
    return { request, answer: await this.ask(request, key) };
  }

  /** Sends a request with a key and returns the answer. Parts of the request may be invalid. */
  async ask(
    request: WireRequest,
    key: string,
    odd: OddRequest = {},
    url = this.url,
  ): Promise<Exclude<WireAnswer, string>> {
    this.#requests += 1;
    const given = Object.entries(request.headers).filter(([, value]) => value !== null);
    const headers: Record<string, string> = {
      authorization: `Bearer ${key}`,
      // Fixed request id, so that recordings do not differ.
      'x-request-id': `req_${this.#requests.toString(16).padStart(32, '0')}`,
      ...(Object.fromEntries(given) as Record<string, string>),
      ...odd.headers,
    };
    if (headers['idempotency-key'] === ANY_KEY) headers['idempotency-key'] = this.newKey();
    const query = odd.query ?? new URLSearchParams(request.query).toString();
    const body =
      odd.body ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    const path = `${request.path}${query === '' ? '' : `?${query}`}`;
    try {
      const response = await fetch(`${url}${path}`, {
        method: request.method,
        headers,
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
        ...(body === undefined ? {} : { body }),
      });
      return await answerOf(response);
    } catch (cause) {
      throw new Error(`${request.method} ${path} was not answered`, { cause });
    }
  }
}

/** Timeout for a recorded answer, in milliseconds. */
const ANSWER_MS_MAX = 60_000;

async function answerOf(response: Response): Promise<Exclude<WireAnswer, string>> {
  const kept = [...response.headers].filter(([name]) => !OF_CONNECTIONS.has(name)).sort();
  const headers = Object.fromEntries(kept);
  const said = response.body === null ? '' : await text(response.body);
  const { status } = response;
  return said === '' ? { status, headers } : { status, headers, body: JSON.parse(said) };
}
