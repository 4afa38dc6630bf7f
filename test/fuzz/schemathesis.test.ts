import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MissingServer } from '#deploy/local/install/missing-server';
import { runSchema } from '#test/fuzz/schema-run';
import { LOCAL_BILLING } from '#test/support/calls/billing-scene';
import { newCaller } from '#test/support/calls/caller';
import { startStandalone } from '#test/support/servers/service';

/** Generated cases per endpoint and phase; `make fuzz` uses more. */
const EXAMPLES = 2;

/** Minimum number of cases. Each endpoint has about forty cases. */
const CASES_MIN = 500;

const schemathesis = suite('Schemathesis, with all phases and checks');

schemathesis('finds only accepted failures in a running service', async () => {
  await using service = await startStandalone({ SERVICE_DOCS_ENABLED: 'true', ...LOCAL_BILLING });
  const { key } = await newCaller(service);
  const extent = { examples: EXAMPLES };
  const run = { origin: service.origin, key, seed: 1, extent, print: console.log };
  const report = await runSchema(run).catch((error: unknown) => {
    if (!(error instanceof MissingServer) || process.env['CI'] === 'true') throw error;
    console.log(`skipped because ${error.message}`);
    return undefined;
  });
  if (report === undefined) return;
  assert.equal(report.findings, []);
  assert.ok(report.isComplete);
  assert.ok(report.cases >= CASES_MIN, `${report.cases} cases`);
});

schemathesis.run();
