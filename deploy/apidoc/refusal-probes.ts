import assert from 'node:assert/strict';
import type { ExampleReply, ExampleRequest, ExampleService } from '#deploy/apidoc/example-service';
import { type ExampleAnswer, exampleBodiesOf } from '#edge/document/openapi';
import type { Endpoint } from '#edge/endpoints/endpoint';
import type { AnyReason } from '#errors/error-reasons';
import { Fault, faultFor } from '#errors/fault';

/** `Authorization` headers of callers. The service refuses all but `full`. */
export type ProbeKeys = Readonly<Record<'full' | 'readOnly' | 'suspended' | 'rateLimited', string>>;

/** Sends the usual request with some parts replaced. */
type Ask = (parts: Partial<ExampleRequest>) => Promise<ExampleReply>;

/** Refusals about past states that need an instance of an older release, or a trimmed instance. */
const PAST_REFUSALS = [
  [
    'state_not_stored',
    'the state at cycle 3 of generation 1 was not stored; the next available cycle is 37',
  ],
  ['cycle_trimmed', 'cycle 3 of generation 1 is no longer stored; the first available cycle is 37'],
] as const satisfies readonly (readonly [AnyReason, string])[];

type Probe = {
  readonly status: number;
  readonly summary: string;
  readonly reply: Promise<ExampleReply>;
};

/** Collects the refusals of an endpoint for which no instance has to exist. */
export class Probes {
  readonly #service: ExampleService;
  readonly #keys: ProbeKeys;
  readonly #noLimiter: Pick<ExampleService, 'ask'>;
  readonly #noEngine: Pick<ExampleService, 'ask'>;

  constructor(service: ExampleService, keys: ProbeKeys) {
    this.#service = service;
    this.#keys = keys;
    const limiter = failing(new Fault('service_unavailable', 'no limiter answers'));
    this.#noLimiter = service.broken({ limiter });
    this.#noEngine = service.broken({ engine: failing(new Error('a bug, for example')) });
  }

  /** Sends all refused requests. Returns the answers, and asserts the status of each answer. */
  async refusalsOf(endpoint: Endpoint): Promise<ExampleAnswer[]> {
    const answers: ExampleAnswer[] = [];
    const probes =
      endpoint.scope === 'none'
        ? this.#ofNotification(endpoint)
        : [...this.#ofCaller(endpoint), ...this.#ofRequest(endpoint)];
    for (const { status, summary, reply } of probes) {
      const { status: got, body } = await reply;
      assert.equal(got, status, `${endpoint.name}, ${summary}: ${JSON.stringify(body)}`);
      answers.push({ endpoint: endpoint.name, status, summary, body });
    }
    return answers;
  }

  /** Refusals because of the caller, or because limiter or engine fail. */
  *#ofCaller(endpoint: Endpoint): Generator<Probe> {
    const request = usualRequest(endpoint);
    const { full, readOnly, suspended, rateLimited } = this.#keys;
    yield { status: 401, summary: 'no API key', reply: this.#service.ask(request) };
    if (endpoint.scope === 'full') {
      yield { status: 403, summary: 'a read-only key', reply: this.#as(readOnly, request) };
    }
    const off = this.#as(suspended, request);
    yield { status: 403, summary: 'a suspended account', reply: off };
    const late = this.#as(rateLimited, request);
    yield { status: 429, summary: 'too many requests this minute', reply: late };
    const headers = { authorization: full };
    if (['engine', 'stream', 'feed'].includes(endpoint.handler.kind)) {
      const bug = this.#noEngine.ask({ ...request, headers });
      yield { status: 500, summary: 'a server error', reply: bug };
    }
    if (endpoint.refusals.includes('cycle_trimmed')) yield* this.#ofPast(request, headers);
    const unsure = this.#noLimiter.ask({ ...request, headers });
    yield { status: 503, summary: 'the limiter does not answer', reply: unsure };
  }

  *#ofPast(request: ExampleRequest, headers: Record<string, string>): Generator<Probe> {
    for (const [reason, message] of PAST_REFUSALS) {
      const fault = faultFor(reason, message, { firstCycle: 37 });
      const reply = this.#service.broken({ engine: failing(fault) }).ask({ ...request, headers });
      yield { status: fault.httpStatus, summary: 'a cycle without a state', reply };
    }
  }

  /** Refusals because of the request's content. */
  *#ofRequest(endpoint: Endpoint): Generator<Probe> {
    const request = usualRequest(endpoint);
    const ask = (parts: Partial<ExampleRequest>) =>
      this.#as(this.#keys.full, { ...request, ...parts });
    const nonsense = ask({ url: `${request.url}?verbose=1` });
    yield { status: 400, summary: 'a query parameter that does not exist', reply: nonsense };
    if (endpoint.body !== undefined) {
      yield { status: 400, summary: 'a body that is not JSON', reply: ask({ body: '{"name": ' }) };
      const broken = ask({ body: { cycle_count: 1 } });
      yield { status: 422, summary: 'a body that breaks a rule', reply: broken };
    }
    // The account has an agreed plan, and has bought nothing.
    if (endpoint.pathId !== undefined) {
      yield { status: 404, summary: 'an unknown id', reply: ask({}) };
    } else if (endpoint.refusalCodes.includes('conflict')) {
      yield { status: 409, summary: 'an agreed plan', reply: ask({}) };
    } else if (endpoint.refusalCodes.includes('not_found')) {
      yield { status: 404, summary: 'nothing was bought', reply: ask({}) };
    }
    if (endpoint.method !== 'GET') yield* this.#ofBody(endpoint, ask);
  }

  *#ofBody({ bodyBytesMax }: Endpoint, ask: Ask): Generator<Probe> {
    const large = ask({ body: ' '.repeat(bodyBytesMax + 1) });
    yield { status: 413, summary: 'a body that is too large', reply: large };
    const typed = ask({ body: 'hello', headers: { 'content-type': 'text/plain' } });
    yield { status: 415, summary: 'a body of another type', reply: typed };
  }

  /** Refusals of a notification because of its signature or content. */
  *#ofNotification(endpoint: Endpoint): Generator<Probe> {
    const request = usualRequest(endpoint);
    const ask: Ask = (parts) => this.#service.ask({ ...request, ...parts });
    yield { status: 400, summary: 'no signature', reply: ask({}) };
    const body = '[]';
    const headers = { 'stripe-signature': this.#service.signatureOf(body) };
    yield { status: 422, summary: 'a body without an event', reply: ask({ body, headers }) };
    const unsure = this.#noLimiter.ask({ ...request, headers });
    yield { status: 503, summary: 'the limiter does not answer', reply: unsure };
    yield* this.#ofBody(endpoint, ask);
  }

  #as(authorization: string, request: ExampleRequest): Promise<ExampleReply> {
    return this.#service.ask({ ...request, headers: { ...request.headers, authorization } });
  }
}

/** The endpoint's documented request, with an unknown id. */
function usualRequest(endpoint: Endpoint): ExampleRequest {
  const { method, path, pathId } = endpoint;
  const url = path.replace(':id', pathId?.unknown ?? '');
  return { method, url, body: exampleBodiesOf(endpoint)[0] };
}

function failing(error: Error): { ask(): never } {
  return {
    ask() {
      throw error;
    },
  };
}
