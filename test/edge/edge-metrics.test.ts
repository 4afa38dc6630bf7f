import type { FastifyReply, FastifyRequest } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ENDPOINTS } from '#edge/endpoints/all';
import { type Counted, edgeMetrics } from '#edge/serve/reply';
import { gate } from '#edge/serve/request-checks';
import { systemClock } from '#stdlib/clock';
import { createMetrics } from '#telemetry/metrics';

const start = suite('an edge that has answered no request yet');

start('shows its success, 500 and 503 counts as 0 for every endpoint', async () => {
  const metrics = createMetrics();
  edgeMetrics(metrics);
  const { text } = await metrics.scrape();
  for (const { method, path, success } of ENDPOINTS) {
    for (const status of [success, 500, 503]) {
      const labels = `http_request_method="${method}",http_route="${path}",http_response_status_code="${status}"`;
      const line = `http_server_request_duration_seconds_count{${labels}} 0`;
      assert.ok(text.includes(line), line);
    }
  }
});

const refused = suite('a request that is refused before it is served');

/** Labels for a refused request to an instance route. */
function countedUnder(isClosing: boolean, httpVersionMinor = 1): Counted | undefined {
  let counted: Counted | undefined;
  const ports = {
    clock: systemClock,
    reply: {
      refuse(_request: unknown, _reply: unknown, under: Counted): void {
        counted = under;
      },
    },
    pipelines: { inTurn: (_request: unknown, _reply: unknown, go: () => void) => go() },
    admission: { refusalUnasked: () => undefined },
    closing: isClosing ? AbortSignal.abort() : new AbortController().signal,
    tracer: undefined,
  } as unknown as Parameters<typeof gate>[0];
  const url = '/v1/instances/inst_1';
  const raw = { url, httpVersionMajor: 1, httpVersionMinor, rawHeaders: ['Host', 'a'] };
  const routeOptions = { url: '/v1/instances/:id' };
  const request = { method: 'GET', headers: {}, raw, routeOptions } as unknown as FastifyRequest;
  gate(ports)(request, {} as FastifyReply, () => undefined);
  return counted;
}

refused('because the edge shuts down is counted on its route, as a failure of the service', () => {
  assert.equal(countedUnder(true), { method: 'GET', path: '/instances/:id' });
});

refused('because of its caller’s mistake is counted on no route', () => {
  assert.equal(countedUnder(false, 0), { method: 'GET', path: 'refused' });
  assert.equal(countedUnder(false), { method: 'GET', path: 'refused' }, 'without a key');
});

for (const each of [start, refused]) each.run();
