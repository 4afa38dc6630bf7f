import { wrapped } from '#deploy/documents/wrapped-text';
import { checkoutCommit } from '#deploy/local/checkout-commit';
import type { PartResult } from '#test/pods/parts';
import { machineText } from '#test/support/machine-text';

/** A section of the report. */
export type Section = PartResult & { readonly name: string };

/**
 * Head of the report, with the commit. Must be called before the report is written: the written
 * report changes the checkout, and a changed checkout has no commit.
 */
export function headText(): string {
  return `# Pods

This page shows the production overlay on real pods. \`make pods\` repeats the run: an API server, and three nodes with
containerd, kubelet, kube-proxy, cluster DNS and network policies, on one machine. The service has three engines, two
limiters, two edges, two couriers and a console, with three NATS servers and one Cassandra. All connections between
processes use TLS.

| | |
|---|---|
| Command | \`make pods\` |
| Commit | ${checkoutCommit()} |
| Machine | ${machineText()} |

What this run cannot show: the nodes are network namespaces, so a lost node is a cut cable, not a lost machine. All
nodes share one disk. One Cassandra takes the place of three, so data has one copy, and
\`SERVICE_ENVIRONMENT\` is \`development\`. A call to the limiter may take 1 s instead of the default, because all
processes share the cores of the machine. Certificates come from the same requests that cert-manager reads, but openssl
signs them. k8ssandra-operator and the NATS chart are replaced by plain StatefulSets with the settings of their
manifests. An update changes the name of the image, not its content: \`test/upgrade\` updates between releases.
`;
}

/** Report with all sections, in Markdown. */
export function reportText(head: string, sections: readonly Section[]): string {
  const count = sections.reduce((sum, { findings }) => sum + findings.length, 0);
  const lines = sections.flatMap(({ name, findings }) =>
    findings.map((line) => `- ${name}: ${line}`),
  );
  const blocks = [
    head,
    count === 0 ? '**No findings.**' : [`**Findings: ${count}.**`, '', ...lines].join('\n'),
    ...sections.flatMap(({ name, text }) => [`## ${name}`, text]),
  ];
  return `${blocks.map((block) => wrapped(block.trim())).join('\n\n')}\n`;
}
