import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { MissingServer } from '#deploy/local/install/missing-server';
import type { PodCluster } from '#test/pods/cluster';
import { withService } from '#test/pods/installation';
import { conformancePart, type PartResult, policiesPart, takeoversPart } from '#test/pods/parts';
import { assertRequirements } from '#test/pods/requirements';

/*
 * A short form of `make pods`: installs the production overlay on three nodes with real containers.
 */

/** Cases per endpoint of Schemathesis. */
const EXAMPLES = 1;

const pods = suite('the production overlay on real pods');

const lack = await assertRequirements().then(
  () => undefined,
  (error: MissingServer) => error.message,
);
if (lack !== undefined) console.log(`skipped because there are no nodes for pods: ${lack}`);

const test = lack === undefined || process.env['CI'] === 'true' ? pods : pods.skip;

// Catches a manifest that only a real kubelet refuses, a program that the image lacks, a policy
// that a real network enforces otherwise, and a take-over that needs the network of one machine.
test('becomes ready, answers as documented, enforces policies and survives a kill', async () => {
  const findings: string[] = [];
  const note = (part: PartResult) => void findings.push(...part.findings);
  await withService(console.log, async (cluster: PodCluster) => {
    note(await policiesPart(cluster));
    note(await conformancePart(cluster, EXAMPLES, console.log));
    // Only the answers count: the time is a measurement, which other tests disturb.
    await takeoversPart(cluster, 1, console.log);
  });
  assert.equal(findings, []);
});

pods.run();
