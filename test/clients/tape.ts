import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import type { ExampleService } from '#deploy/apidoc/example-service';
import { expectedOf } from '#test/clients/expected-of';
import { OF_CONNECTIONS } from '#test/clients/raw-answer';
import { ANY_KEY, requestOfCall } from '#test/clients/request-of-call';
import type {
  Call,
  Exchange,
  Json,
  Origin,
  WireAnswer,
  WireCase,
  WireRequest,
} from '#test/clients/wire-case';

/** A UUIDv7 of the day of the recording, by its number. */
const keyNumber = (number: number) => `019bc155-2a00-7c3e-9a41-${String(number).padStart(12, '0')}`;

/** What a case is made of beside its call. */
export type Parts = {
  readonly origin?: Origin;
  /** Another account's. */
  readonly key?: string;
  readonly client?: Record<string, Json>;
  /** What came before the answer of the service. */
  readonly before?: readonly WireAnswer[];
  /** What came instead of it. */
  readonly instead?: WireAnswer;
  /** Added to what is expected. */
  readonly expect?: Record<string, Json>;
  /** Address of another edge than the usual one. */
  readonly edge?: string;
};

/** A request that no client sends, for an answer that one may get. */
export type OddRequest = {
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly query?: string;
};

/** Plays calls against the service and keeps what went over the wire. */
export class Tape {
  readonly cases: WireCase[] = [];
  readonly service: ExampleService;
  readonly url: string;
  readonly key: string;
  #requests = 0;
  #keys = 0;

  /** `url` is where the service listens, `key` an API key of the account that calls. */
  constructor(service: ExampleService, url: string, key: string) {
    this.service = service;
    this.url = url;
    this.key = key;
  }

  /** A new idempotency key, as a client makes one. */
  newKey(): string {
    this.#keys += 1;
    return keyNumber(this.#keys);
  }

  /** Makes a call and keeps it as a case. Answers the data of the answer. */
  async record(name: string, call: Call, parts: Parts = {}): Promise<Json> {
    const request = requestOfCall(call);
    const { key = this.key, before = [], client, expect = {}, origin = 'recorded' } = parts;
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

  /** Keeps a case. */
  keep(made: WireCase): void {
    assert.ok(!this.cases.some(({ name }) => name === made.name), `two cases: ${made.name}`);
    this.cases.push(made);
  }

  /** Makes a call without keeping it. Answers the data of the answer. */
  async play(call: Call, key = this.key): Promise<Json> {
    const answer = await this.ask(requestOfCall(call), key);
    assert.ok(answer.status < 400, JSON.stringify(answer));
    return answer.body?.data;
  }

  /** The exchange of a call. */
  async exchange(call: Call, key = this.key): Promise<Exchange> {
    const request = requestOfCall(call);
    return { request, answer: await this.ask(request, key) };
  }

  /** The service's answer to a request with a key, some parts of it as no client sends them. */
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
      // The service's own would differ with every run.
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

/** Time for an answer of the service that is recorded, in milliseconds. */
const ANSWER_MS_MAX = 60_000;

async function answerOf(response: Response): Promise<Exclude<WireAnswer, string>> {
  const kept = [...response.headers].filter(([name]) => !OF_CONNECTIONS.has(name)).sort();
  const headers = Object.fromEntries(kept);
  const said = response.body === null ? '' : await text(response.body);
  const { status } = response;
  return said === '' ? { status, headers } : { status, headers, body: JSON.parse(said) };
}
