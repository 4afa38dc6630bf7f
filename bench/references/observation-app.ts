import { hash } from 'node:crypto';
import fastify from 'fastify';
import { digestOf } from '#accounts/api-key';
import type { SentObservation } from '#bench/references/identity';
import { OBSERVATION, PROCESS_PARAMS } from '#bench/references/schemas';
import type { Idempotency, ObservationStore, Refusal } from '#bench/references/store';

/** HTTP status and error code of each refusal. */
const REFUSALS = {
  unknown: { status: 404, error: 'not_found' },
  early: { status: 409, error: 'too_early' },
  reused: { status: 400, error: 'idempotency_key_reused' },
} as const satisfies Record<Refusal, { status: number; error: string }>;

/** Parameters of the HTTP server. */
export type ObservationAppOptions = {
  readonly port: number;
  readonly store: ObservationStore;
  /** Account id by the digest of the API key. */
  readonly accounts: ReadonlyMap<string, string>;
};

/**
 * Serves observations from a store: a typical well-written Fastify route. ajv validates path and
 * body. The API key's digest is looked up in memory. Metrics and listing have the service's names,
 * so that the same checks apply.
 */
export async function serveObservations(options: ObservationAppOptions): Promise<void> {
  const { port, store, accounts } = options;
  const tally = { advanced: 0, early: 0 };
  const app = fastify();
  app.get('/metrics', async () => {
    return `identity_cycles_total ${tally.advanced}\nidentity_throttled_total ${tally.early}\n`;
  });
  // Counts stored history rows, which ledger.ts compares with the number of answers.
  app.get<{ Querystring: { limit: string; offset: string } }>(
    '/v1/instances',
    async ({ query }) => ({ data: await store.list(Number(query.limit), Number(query.offset)) }),
  );
  app.post<{ Params: { id: string }; Body: SentObservation }>(
    '/v1/instances/:id/process',
    { schema: { params: PROCESS_PARAMS, body: OBSERVATION } },
    async ({ headers, params: { id }, body: observation }, reply) => {
      const { authorization = '' } = headers;
      const accountId = accounts.get(digestOf(authorization.slice('Bearer '.length)));
      if (accountId === undefined) return reply.code(401).send({ error: 'unauthorized' });
      const idempotency = idempotencyOf(headers['idempotency-key'], observation);
      const answer = await store.process({ id, accountId, observation, idempotency });
      if (typeof answer === 'string') {
        if (answer === 'early') tally.early += 1;
        const { status, error } = REFUSALS[answer];
        return reply.code(status).send({ error });
      }
      const { body, etag, isReplayed } = answer;
      if (isReplayed) reply.header('idempotent-replayed', 'true');
      else tally.advanced += 1;
      return reply.header('etag', etag).type('application/json; charset=utf-8').send(body);
    },
  );
  await app.listen({ host: '127.0.0.1', port });
}

/** The call's key with a digest of its observation; undefined without a key. */
function idempotencyOf(
  key: string | string[] | undefined,
  observation: SentObservation,
): Idempotency | undefined {
  if (typeof key !== 'string' || key === '') return undefined;
  return { key, fingerprint: fingerprintOf(observation) };
}

/** Digest of an observation, to detect a key that comes with another request. */
export function fingerprintOf(observation: SentObservation): string {
  return hash('sha256', JSON.stringify(observation), 'base64url');
}
