import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { stringify } from 'yaml';
import { installedKubernetes } from '#deploy/local/install/kubernetes';
import { KUBERNETES_RELEASES } from '#deploy/local/install/kubernetes-schemas';
import { installedKustomize } from '#deploy/local/install/kustomize';
import { startControlPlane } from '#test/kubernetes/control-plane';
import { KubernetesObjects } from '#test/kubernetes/kubernetes-objects';
import {
  jobOf,
  type Manifest,
  OVERLAYS,
  ofKind,
  type PodTemplate,
  rendered,
  renderedWithEveryComponent,
  WORKLOADS,
} from '#test/kubernetes/manifest';
import { runCommand } from '#test/kubernetes/run-command';

/*
 * Applies every overlay to a real API server with controllers and scheduler, on simulated nodes:
 * pods are admitted, scheduled and replaced, but run no containers.
 *
 * Usage: node test/kubernetes/main.ts
 */

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** Kinds of custom resources, which the API server checks instead of kubeconform. */
const CUSTOM_KINDS = 'Certificate,Issuer,PodMonitor,PrometheusRule';

/** Timeout of a rolling update: three pods, 30 s apart. */
const ROLLOUT = '--timeout=300s';

const print = (line: string): void => console.log(line);
const programs = await installedKubernetes(print);
const kustomize = await installedKustomize(print);
const folder = mkdtempSync(join(tmpdir(), 'identity-engine-kubernetes-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const plane = await startControlPlane(programs, folder);
const objects = new KubernetesObjects(plane);

const overlays = OVERLAYS.map((overlay) => {
  const manifests = rendered(kustomize, overlay);
  const [namespace] = ofKind(manifests, 'Namespace');
  assert.ok(namespace);
  return { overlay, manifests, namespace: namespace.metadata.name };
});
const production = overlays.at(-1)?.namespace ?? '';

/** Concatenates manifests for `kubectl apply`. */
const textOf = (...manifests: readonly object[]): string => {
  return manifests.map((each) => stringify(each)).join('---\n');
};

const schemas = suite('the API schemas of Kubernetes');

const tried = [
  ...overlays,
  { overlay: 'every-component', manifests: renderedWithEveryComponent(kustomize) },
];

for (const release of KUBERNETES_RELEASES) {
  for (const { overlay, manifests } of tried) {
    schemas(`define every field of overlay ${overlay} in release ${release}`, async () => {
      const file = join(folder, `${overlay}.yaml`);
      writeFileSync(file, textOf(...manifests));
      const location = join(programs.schemas, '{{ .NormalizedKubernetesVersion }}');
      const answer = await runCommand(programs.kubeconform, [
        ...['-strict', '-summary', '-kubernetes-version', `${release}.0`, '-skip', CUSTOM_KINDS],
        ...['-schema-location', `${location}/{{ .ResourceKind }}{{ .KindSuffix }}.json`, file],
      ]);
      assert.ok(answer.isOk, answer.out + answer.err);
      assert.match(answer.out, /Valid: [1-9]\d*, Invalid: 0, Errors: 0/);
    });
  }
}

const cluster = suite('a real API server');

cluster("accepts the operators' definitions, and nodes in three zones", async () => {
  for (const file of readdirSync(programs.definitions)) {
    // Server-side: the definitions are too large for the annotation of client-side apply.
    await objects.applied(['--server-side', '--filename', join(programs.definitions, file)]);
  }
  await objects.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  for (const [node, zone] of ['a', 'b', 'c', 'a'].entries()) await objects.addNode(node, zone);
  await objects.kubectl(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s']);
  await objects.addVolume();
});

for (const { overlay, manifests, namespace } of overlays) {
  cluster(`accepts every manifest and every field of overlay ${overlay}`, async () => {
    await objects.apply(textOf(...ofKind(manifests, 'Namespace')));
    const secrets = () =>
      runCommand('sh', ['deploy/kubernetes/make-secrets.sh', namespace], {
        env: {
          KUBECONFIG: plane.kubeconfig,
          PATH: `${dirname(programs.kubectl)}${delimiter}${process.env['PATH']}`,
        },
      });
    const made = await secrets();
    assert.ok(made.isOk, made.err);
    const again = await secrets();
    assert.match(again.out, /cluster-secret exists\n[\s\S]*nats-passwords exists\n/);
    const keys = async () => {
      const named = ['-n', namespace, 'get', 'secret', 'nats-passwords', '--output', 'json'];
      return JSON.parse(await objects.kubectl(named)).data as Record<string, string>;
    };
    const { console: consolePassword, ...others } = await keys();
    assert.ok(consolePassword);
    // Simulate the secret of a release without consoles.
    const patch = '[{"op":"remove","path":"/data/console"}]';
    const lacking = ['patch', 'secret', 'nats-passwords', '--type', 'json', '--patch', patch];
    await objects.kubectl(['-n', namespace, ...lacking]);
    const mended = await secrets();
    assert.ok(mended.isOk, mended.err);
    const { console: added, ...kept } = await keys();
    assert.match(Buffer.from(added ?? '', 'base64').toString(), /^n[0-9a-f]{64}$/);
    assert.equal(kept, others);
    const warnings = await objects.apply(textOf(...manifests));
    // For workload objects, Pod Security only warns.
    assert.is(warnings, '');
  });

  cluster(`admits every pod of overlay ${overlay} under Pod Security "restricted"`, async () => {
    const workloads = ofKind(manifests, ...WORKLOADS);
    assert.ok(workloads.length >= 6);
    const daily = ofKind(manifests, 'CronJob').map(jobOf);
    assert.is(daily.length, 1);
    for (const { metadata, spec } of [...workloads, ...daily]) {
      const pod = podOf(metadata.name, namespace, withClaims(spec));
      const answer = await plane.kubectl(['create', '--dry-run=server', '-f', '-'], textOf(pod));
      assert.ok(answer.isOk, answer.err);
    }
  });

  cluster(`refuses a pod of overlay ${overlay} with more privileges`, async () => {
    const [edge] = ofKind(manifests, 'Deployment').filter(
      ({ metadata }) => metadata.name === 'edge',
    );
    assert.ok(edge);
    const { spec } = edge.spec.template;
    const container = { ...spec.containers[0], securityContext: {} };
    const pod = podOf('edge', namespace, {
      ...edge.spec.template,
      spec: { ...spec, containers: [container] } as PodTemplate['spec'],
    });
    const answer = await plane.kubectl(['create', '--dry-run=server', '-f', '-'], textOf(pod));
    assert.not.ok(answer.isOk);
    assert.ok(/forbidden: violates PodSecurity "restricted:latest"/.test(answer.err), answer.err);
  });
}

cluster("accepts production's namespace and certificates of the stores", async () => {
  const options = ['--dry-run=server', '--validate=strict'];
  await objects.applied(['-f', 'deploy/kubernetes/stores/namespace.yaml']);
  await objects.applied([...options, '-f', 'deploy/kubernetes/stores/certificates.yaml']);
});

for (const { overlay, manifests, namespace } of overlays) {
  cluster(`starts all pods of overlay ${overlay}`, async () => {
    for (const { kind, metadata } of ofKind(manifests, 'Deployment', 'StatefulSet')) {
      const name = `${kind.toLowerCase()}/${metadata.name}`;
      await objects.kubectl(['-n', namespace, 'rollout', 'status', name, ROLLOUT]);
    }
    await objects.kubectl([
      ...['-n', namespace, 'wait', '--for=condition=complete', 'job/migrate', '--timeout=60s'],
    ]);
    const [scaler] = ofKind(manifests, 'HorizontalPodAutoscaler');
    assert.ok(scaler);
    const { minReplicas } = scaler.spec as unknown as { minReplicas: number };
    await objects.until("the autoscaler's minimum number of edges", async () => {
      return (await objects.pods(namespace, 'edge')).length === minReplicas;
    });
  });
}

cluster("schedules production's three engines on three hosts", async () => {
  const engines = await objects.pods(production, 'engine');
  assert.is(new Set(engines.map(({ spec }) => spec.nodeName)).size, 3);
});

const drain = suite('a drain of production');

drain('waits while another engine is not ready', async () => {
  const [first, second] = await objects.pods(production, 'engine');
  assert.ok(first && second);
  await objects.setReady(production, first.metadata.name, 'False');
  const { nodeName: node } = second.spec;
  assert.ok(node);
  const draining = (timeout: string) =>
    plane.kubectl([
      ...['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--force'],
      ...['--pod-selector=app.kubernetes.io/component=engine', `--timeout=${timeout}`],
    ]);
  const held = await draining('8s');
  assert.not.ok(held.isOk);
  assert.match(held.err, /Cannot evict pod as it would violate the pod's disruption budget/);
  await objects.setReady(production, first.metadata.name, 'True');
  const done = await draining('60s');
  assert.ok(done.isOk, done.err);
  await objects.until('three engines, none on the drained host', async () => {
    const engines = await objects.pods(production, 'engine');
    const nodes = engines.map(({ spec }) => spec.nodeName);
    return engines.length === 3 && nodes.every((each) => each !== undefined && each !== node);
  });
  await objects.kubectl(['uncordon', node]);
});

const update = suite('an image update of production');

for (const name of ['engine', 'limiter']) {
  update(`replaces ${name}s one by one, 30 s apart`, async () => {
    const set = `statefulset/${name}`;
    await objects.kubectl(['-n', production, 'rollout', 'status', set, ROLLOUT]);
    const image = 'service=registry.example/identity-engine:1.0.1';
    await objects.kubectl(['-n', production, 'set', 'image', set, image]);
    await objects.kubectl(['-n', production, 'rollout', 'status', set, ROLLOUT]);
    const pods = await objects.pods(production, name);
    for (const { spec } of pods) assert.match(spec.containers[0]?.image ?? '', /:1\.0\.1$/);
    const times = ['2', '1', '0'].map((place) => {
      const pod = pods.find(({ metadata }) => metadata.name === `${name}-${place}`);
      return Date.parse(pod?.metadata.creationTimestamp ?? '');
    });
    for (const [place, time] of times.slice(1).entries()) {
      assert.ok(time - (times[place] ?? 0) >= 29_000, times.join(' '));
    }
  });
}

for (const name of ['edge', 'console']) {
  update(`replaces every ${name} without reducing the number of ready pods`, async () => {
    const before = (await objects.pods(production, name)).length;
    const image = 'service=registry.example/identity-engine:1.0.1';
    await objects.kubectl(['-n', production, 'set', 'image', `deployment/${name}`, image]);
    let fewest = before;
    const rollout = objects.kubectl([
      '-n',
      production,
      'rollout',
      'status',
      `deployment/${name}`,
      ROLLOUT,
    ]);
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    rollout.then(end, end);
    while (!isOver) {
      const ready = (await objects.pods(production, name)).filter(({ status }) => {
        return status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
      });
      fewest = Math.min(fewest, ready.length);
    }
    await rollout;
    assert.ok(fewest >= before, `${fewest} of ${before}`);
  });
}

update('accepts every optional component after the finished job is deleted', async () => {
  await objects.kubectl(['-n', production, 'delete', 'job', 'migrate']);
  const manifests = textOf(...renderedWithEveryComponent(kustomize));
  const args = ['apply', '--dry-run=server', '--validate=strict', '--filename', '-'];
  const { isOk, err } = await plane.kubectl(args, manifests);
  assert.ok(isOk, err);
});

update.after(async () => await plane[Symbol.asyncDispose]());

for (const each of [schemas, cluster, drain, update]) each.run();

/** Pod template of a workload, with an emptyDir for each claimed volume. */
function withClaims({ template, volumeClaimTemplates = [] }: Manifest['spec']): PodTemplate {
  const claims = volumeClaimTemplates.map(({ metadata: { name } }) => ({ name, emptyDir: {} }));
  const volumes = [...(template.spec.volumes ?? []), ...claims];
  return { ...template, spec: { ...template.spec, volumes } };
}

/** The pod that a workload would create. */
function podOf(name: string, namespace: string, { metadata, spec }: PodTemplate): object {
  const named = { ...metadata, name: `${name}-tried`, namespace };
  return { apiVersion: 'v1', kind: 'Pod', metadata: named, spec };
}
