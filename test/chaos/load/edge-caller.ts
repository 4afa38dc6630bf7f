import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ClusterPlan } from '#deploy/local/cluster-plan';

/** Timeout of one attempt in milliseconds, above the service's deadline of 10 s. */
const ANSWER_MS_MAX = 15_000;

/** A request to send. */
export type Asked = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path below `/v1`. */
  readonly path: string;
  readonly apiKey: string;
  readonly idempotencyKey?: string | undefined;
  readonly body?: unknown;
};

/** Result of one attempt. */
export type Answered =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: string;
      readonly etag: string;
      readonly isThrottled: boolean;
    }
  /** No edge accepted a connection, so that the request was not sent. */
  | { readonly kind: 'unsent' }
  /** The request was sent, but no answer arrived. */
  | { readonly kind: 'lost'; readonly why: string };

/** Opens a client for all edges of a local cluster. */
export function callerOf({ processes }: ClusterPlan): EdgeCaller {
  const edges = processes.filter(({ kind }) => kind === 'edge');
  return new EdgeCaller(edges.map(({ port }) => `http://127.0.0.1:${port}`));
}

/** Distributes requests over all edges, like a load balancer. Keeps connections open. */
export class EdgeCaller implements Disposable {
  /** `http://host:port` of each edge. */
  readonly #edges: readonly string[];
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 256 });
  #turn = 0;

  constructor(edges: readonly string[]) {
    this.#edges = edges;
  }

  /** Sends a request once, to the next edge that accepts a connection. Never rejects. */
  async send(asked: Asked): Promise<Answered> {
    this.#turn += 1;
    const turn = this.#turn;
    let answered: Answered = { kind: 'unsent' };
    for (let tried = 0; tried < this.#edges.length && answered.kind === 'unsent'; tried += 1) {
      const edge = this.#edges[(turn + tried) % this.#edges.length] ?? '';
      answered = await this.#sendTo(edge, asked);
    }
    return answered;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #sendTo(edge: string, { method, path, apiKey, idempotencyKey, body }: Asked): Promise<Answered> {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    };
    const { promise, resolve } = Promise.withResolvers<Answered>();
    const options = { method, agent: this.#agent, timeout: ANSWER_MS_MAX, headers };
    const sent = request(`${edge}/v1${path}`, options, (response) => {
      text(response).then(
        (answer) =>
          resolve({
            kind: 'answer',
            status: response.statusCode ?? 0,
            body: answer,
            etag: String(response.headers['etag'] ?? ''),
            isThrottled: response.headers['x-throttled'] === 'true',
          }),
        (error: Error) => resolve({ kind: 'lost', why: error.message }),
      );
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer within 15 s')));
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isUnsent = error.code === 'ECONNREFUSED';
      resolve(isUnsent ? { kind: 'unsent' } : { kind: 'lost', why: error.code ?? error.message });
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    return promise;
  }
}
