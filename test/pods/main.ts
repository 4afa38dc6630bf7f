import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MissingServer } from '#deploy/local/install/missing-server';
import type { Print } from '#deploy/local/progress';
import type { PodCluster } from '#test/pods/cluster';
import { POD_FAULTS, type PodFault } from '#test/pods/faults';
import { withService } from '#test/pods/installation';
import {
  conformancePart,
  faultsPart,
  type PartResult,
  policiesPart,
  takeoversPart,
} from '#test/pods/parts';
import { headText, reportText, type Section } from '#test/pods/report';

/*
 * Runs the production overlay on real pods: three nodes in network namespaces of this machine, with
 * containerd, kubelet, kube-proxy, cluster DNS and network policies. Then tries the connections,
 * compares the API with its document, kills engines, and injects faults under load. A full run
 * writes docs/pods.md. `--only policies,conformance,takeovers,drain` runs some parts and prints
 * their report. `--hold` installs the service and waits. The exit status is 1 with findings.
 */

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    hold: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
    /** Number of kills. */
    takeovers: { type: 'string', default: '50' },
    /** Calls per second during faults. */
    rate: { type: 'string', default: '40' },
  },
});

const PARTS = ['policies', 'conformance', 'takeovers'];

/** Cases per endpoint of Schemathesis. */
const EXAMPLES = 2;

const PAGE = 'docs/pods.md';

const startedMs = performance.now();
const print: Print = (line) => {
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  console.log(`${`${seconds}`.padStart(5)} s  ${line}`);
};

try {
  process.exitCode = values.help ? help() : await run();
} catch (error) {
  if (!(error instanceof MissingServer)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

function help(): number {
  const lines = [...PARTS, ...POD_FAULTS.map(({ name, title }) => `${name}: ${title}`)];
  console.log(['--only takes these names, separated by commas:', ...lines].join('\n  '));
  return 0;
}

async function run(): Promise<number> {
  const known = [...PARTS, ...POD_FAULTS.map(({ name }) => name)];
  const names = values.only === '' ? known : values.only.split(',');
  const unknown = names.filter((name) => !known.includes(name));
  const [takeovers, rate] = [Number(values.takeovers), Number(values.rate)];
  const isCount = [takeovers, rate].every((count) => Number.isInteger(count) && count > 0);
  if (unknown.length > 0 || !isCount) {
    const numbers = '--takeovers and --rate take a whole number above 0';
    const parts = `unknown parts: ${unknown.join(', ')}; --help lists all names`;
    console.error(isCount ? parts : numbers);
    return 2;
  }
  const head = headText();
  const faults = POD_FAULTS.filter(({ name }) => names.includes(name));
  const sections = await withService(print, async (cluster) => {
    const readyS = Math.round((performance.now() - startedMs) / 1_000);
    if (values.hold) await hold(cluster);
    const text = `All pods were ready ${readyS} s after the start, with the building of images and missing programs.`;
    const installed = { name: 'Installation', text, findings: [] };
    return [installed, ...(await sectionsOf(cluster, { names, takeovers, rate, faults }))];
  });
  const report = reportText(head, sections);
  if (values.only === '') writeFileSync(PAGE, report);
  else console.log(report);
  const count = sections.reduce((sum, { findings }) => sum + findings.length, 0);
  print(values.only === '' ? `${PAGE} has ${count} findings` : `${count} findings`);
  return count > 0 ? 1 : 0;
}

/** Waits until a signal ends the process. */
async function hold({ kubeconfig, kubectlProgram }: PodCluster): Promise<never> {
  print(`ready: ${kubectlProgram} --kubeconfig ${kubeconfig} get pods --all-namespaces`);
  print('Ctrl-C removes everything');
  // Without a timer, the process would end.
  setInterval(() => undefined, 60_000);
  return await new Promise(() => undefined);
}

type Wanted = {
  readonly names: readonly string[];
  readonly takeovers: number;
  readonly rate: number;
  readonly faults: readonly PodFault[];
};

/** Runs the wanted parts. A part that fails is a finding, and the next part runs. */
async function sectionsOf(
  cluster: PodCluster,
  { names, takeovers, rate, faults }: Wanted,
): Promise<readonly Section[]> {
  const load = { callsPerSecond: rate, instances: 100, warmS: 20, quietS: 5 };
  const works = [
    ['policies', 'Network policies', () => policiesPart(cluster)],
    ['conformance', 'The API', () => conformancePart(cluster, EXAMPLES, print)],
    ['takeovers', 'Take-overs', () => takeoversPart(cluster, takeovers, print)],
  ] as const;
  const sections: Section[] = [];
  for (const [part, name, work] of works) {
    if (names.includes(part)) sections.push({ name, ...(await resultOf(work)) });
  }
  if (faults.length > 0) {
    const result = await resultOf(() => faultsPart(cluster, faults, load, print));
    sections.push({ name: 'Faults', ...result });
  }
  if (sections.some(({ findings }) => findings.length > 0)) keepLogs(cluster);
  return sections;
}

async function resultOf(work: () => Promise<PartResult>): Promise<PartResult> {
  try {
    return await work();
  } catch (error) {
    const { message } = error as Error;
    print(message);
    return { text: '', findings: [`the part failed: ${message}`] };
  }
}

/** Copies the logs of all containers out of the disks of the nodes, which end with the run. */
function keepLogs({ nodes }: PodCluster): void {
  const folder = join(tmpdir(), 'identity-engine-pod-logs');
  rmSync(folder, { recursive: true, force: true });
  try {
    for (const { place, logFolder } of nodes) {
      cpSync(logFolder, join(folder, place.name), { recursive: true });
    }
    print(`the logs of all pods are in ${folder}`);
  } catch (error) {
    // A kubelet may replace a log during the copy.
    print(`some logs are not in ${folder}: ${(error as Error).message}`);
  }
}
