import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '#edge/app';
import { ENDPOINTS } from '#edge/endpoints/all';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { TEST_ORIGIN } from '#test/support/test-logger';

const unasked = {
  ask: () => Promise.reject(new Error('must not be asked')),
};

const router = suite('the router');

router('has exactly the documented endpoints', async () => {
  const app = buildApp(
    { clusterSecrets: unchanging(['x'.repeat(16)]), trustedProxies: [], drainMs: 0 },
    {
      engine: unasked,
      limiter: unasked,
      clock: systemClock,
      randomness: systemRandomness,
      metrics: createMetrics(),
      logger: createLogger('silent', TEST_ORIGIN),
    },
  );
  await app.ready();
  const documented = ENDPOINTS.map(({ method, path }) => `${method} /v1${path}`);
  assert.ok(documented.length > 0);
  assert.equal(
    routesIn(app.printRoutes({ commonPrefix: false })).toSorted(),
    documented.toSorted(),
  );
  await app.close();
});

router.run();

/** Every method and path in the router's printed tree. */
function routesIn(drawing: string): string[] {
  const parents: string[] = [];
  return drawing.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods] =
      /^((?:[│ ] {3})*[├└]── )(.*?)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
    if (part === '') return [];
    const depth = indent.length / 4;
    parents.length = depth - 1;
    parents.push(part);
    return methods?.split(', ').map((method) => `${method} ${parents.join('')}`) ?? [];
  });
}
