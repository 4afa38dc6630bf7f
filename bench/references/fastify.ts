import { readFile } from 'node:fs/promises';
import fastify from 'fastify';
import { type ProcessAnswer, readProcessAnswer } from '#bench/load/process-answer';
import { OBSERVATION, PROCESS_ANSWER, PROCESS_PARAMS } from '#bench/references/schemas';

// Reference (c): a typical well-written Fastify route. ajv validates path and body,
// fast-json-stringify renders the answer. No state, authentication, headers or metrics.
//
// Usage: node bench/references/fastify.ts <port> <file with a process answer of the service>

const [port = '0', answerFile = ''] = process.argv.slice(2);
const { data } = readProcessAnswer(JSON.parse(await readFile(answerFile, 'utf8')));

/** Returns a new object per request, like a handler that computes its answer. */
function answer(instanceId: string): ProcessAnswer {
  const { snapshot, contract, drift } = data;
  const { deviation } = drift;
  return {
    data: {
      snapshot: {
        ...snapshot,
        instance_id: instanceId,
        mode_strengths: { ...snapshot.mode_strengths },
      },
      contract: {
        ...contract,
        decision_style: { ...contract.decision_style },
        recovery_profile: { ...contract.recovery_profile },
      },
      drift: {
        ...drift,
        deviation: {
          ...deviation,
          sustained: { ...deviation.sustained },
          modes: deviation.modes.map((mode) => ({ ...mode })),
        },
      },
    },
  };
}

const app = fastify();
app.post<{ Params: { id: string } }>(
  '/v1/instances/:id/process',
  {
    schema: {
      params: PROCESS_PARAMS,
      body: OBSERVATION,
      response: { 200: PROCESS_ANSWER },
    },
  },
  async (request) => answer(request.params.id),
);
await app.listen({ host: '127.0.0.1', port: Number(port) });
