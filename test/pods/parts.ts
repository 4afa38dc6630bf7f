import type { Print } from '#deploy/local/progress';
import { countText, percent } from '#test/chaos/checks/quota';
import { EdgeCaller } from '#test/chaos/load/edge-caller';
import { answersOf } from '#test/chaos/report';
import { AFTERMATH_MS, errorShareOf, failedAfterMs, quantile, timeOf } from '#test/chaos/timeline';
import { runSchema } from '#test/fuzz/schema-run';
import { textOf } from '#test/kubernetes/arrows';
import type { PodCluster } from '#test/pods/cluster';
import type { PodFault } from '#test/pods/faults';
import { apiOrigin, makeAccount, runPodFaults } from '#test/pods/faults-run';
import { tryConnections } from '#test/pods/policies';
import { PodScene } from '#test/pods/scene';
import { measureTakeovers } from '#test/pods/takeover';

/** Result of a part: a section of the report, and findings, which fail the run. */
export type PartResult = { readonly text: string; readonly findings: readonly string[] };

/** Maximum time of a take-over, in ms: the target for the p99 of 50 kills, so for the longest. */
const TAKEOVER_MS_MAX = 2_000;

/** Tries every allowed connection, and every forbidden connection to an open port. */
export async function policiesPart(cluster: PodCluster): Promise<PartResult> {
  const tried = await tryConnections(cluster);
  const wrong = tried.filter(({ isAllowed, isOpen }) => isAllowed !== isOpen);
  const allowed = tried.filter(({ isAllowed }) => isAllowed).length;
  const text =
    `The test tried ${allowed} allowed and ${tried.length - allowed} forbidden connections between ` +
    `pods. ${wrong.length === 0 ? 'All allowed connections were open, and all others failed.' : ''}`;
  const lines = wrong.map((arrow) => {
    return `${textOf(arrow)} is ${arrow.isOpen ? 'open' : 'closed'}`;
  });
  return { text, findings: lines };
}

/** Compares the API behind the balancer with its document, with `examples` cases per endpoint. */
export async function conformancePart(
  cluster: PodCluster,
  examples: number,
  print: Print,
): Promise<PartResult> {
  const scene = new PodScene(cluster, print);
  const { apiKey: key } = await makeAccount(scene, 'conformance');
  const origin = await apiOrigin(scene);
  const report = await runSchema({ origin, key, seed: 1, extent: { examples }, print });
  const text = `Schemathesis sent ${countText(report.cases)} requests through the balancer.`;
  const findings = [...report.findings];
  if (!report.isComplete) findings.push('the run of Schemathesis is not complete');
  return { text, findings };
}

/** Time of take-overs after kills of engines. */
export async function takeoversPart(
  cluster: PodCluster,
  count: number,
  print: Print,
): Promise<PartResult> {
  const scene = new PodScene(cluster, print);
  const account = await makeAccount(scene, 'takeovers');
  using caller = new EdgeCaller([await apiOrigin(scene)]);
  const times = await measureTakeovers(scene, caller, account, count);
  const [p50, most] = [0.5, 1].map((share) => quantile(times, share));
  const seconds = (ms = 0): string => (ms / 1_000).toFixed(2);
  const text =
    `After ${count} kills of an engine's process, all instances had a good answer after ` +
    `${seconds(p50)} s (median), and at most ${seconds(most)} s. The time begins at the kill.`;
  const isLate = (most ?? 0) > TAKEOVER_MS_MAX;
  return { text, findings: isLate ? [`a take-over took ${seconds(most)} s`] : [] };
}

/** Size of the load under faults. */
type FaultLoad = {
  readonly callsPerSecond: number;
  readonly instances: number;
  readonly warmS: number;
  readonly quietS: number;
};

/** Injects faults under load. Ends the service, so this part comes last. */
export async function faultsPart(
  cluster: PodCluster,
  faults: readonly PodFault[],
  load: FaultLoad,
  print: Print,
): Promise<PartResult> {
  const { log, disturbances, check } = await runPodFaults(cluster, { ...load, faults, print });
  const rows = faults.flatMap(({ name, title }) => {
    const time = timeOf(name, disturbances, log.calls);
    if (time === undefined) return [];
    const { calls, overMs } = time;
    const failed = Math.round(errorShareOf(calls) * calls.length);
    const lateMs = failedAfterMs(log.calls, overMs, overMs + AFTERMATH_MS);
    const share = failed === 0 ? '0' : `${countText(failed)} (${percent(errorShareOf(calls))})`;
    const cells = [title, countText(calls.length), share, (lateMs / 1_000).toFixed(1)];
    return [`| ${cells.join(' | ')} | ${answersOf(calls).join(', ')} |`];
  });
  const head =
    '| Fault | Calls | Failed | Last failed call after the end of the fault, s | Answers to failed calls |';
  const { acknowledged, superseded, unknown } = check.calls;
  const text = [
    [head, '|---|---:|---:|---:|---|', ...rows].join('\n'),
    `The stores contain all ${countText(acknowledged + superseded)} acknowledged calls once. ` +
      `${countText(unknown)} calls have an unknown outcome.`,
  ].join('\n\n');
  return { text, findings: check.findings.lines };
}
