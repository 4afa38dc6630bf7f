import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { installedKubernetes, type KubernetesPrograms } from '#deploy/local/install/kubernetes';
import { installedNodePrograms } from '#deploy/local/install/kubernetes-node';
import { outputOf } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';
import type { KubernetesObjects } from '#test/kubernetes/kubernetes-objects';
import { manifestsIn, ofKind } from '#test/kubernetes/manifest';
import { runCommand } from '#test/kubernetes/run-command';
import { type PodCluster, startPodCluster } from '#test/pods/cluster';
import { buildImages } from '#test/pods/images';
import { claimMachine, partFolder } from '#test/pods/machine';
import { assertRequirements } from '#test/pods/requirements';
import { STORES_NAMESPACE, storeSettings } from '#test/pods/stores';

/** Namespace of the service in the production overlay. */
export const NAMESPACE = 'identity-engine';

const STORES = 'deploy/kubernetes/stores';
const PRODUCTION = 'deploy/kubernetes/overlays/production';
const OVERLAY = 'test/pods/overlay';

/** Workloads of the service, in the order of an update. */
export const UPDATE_ORDER = [
  ...['statefulset/limiter', 'deployment/courier', 'statefulset/engine'],
  ...['deployment/edge', 'deployment/console'],
] as const;

/** Timeout of a rollout: pods of a StatefulSet become available after 30 s. */
const ROLLOUT = '--timeout=300s';

const CERTIFICATE_MS_MAX = 30_000;

/** A cluster in which the production overlay is installed. */
type Place = {
  readonly cluster: PodCluster;
  readonly programs: KubernetesPrograms;
  readonly print: Print;
};

/**
 * Starts a cluster, installs the production overlay, and runs `work`. Throws `MissingServer` if
 * this machine cannot run nodes or a program cannot be installed.
 */
export async function withService<Result>(
  print: Print,
  work: (cluster: PodCluster) => Promise<Result>,
): Promise<Result> {
  await assertRequirements();
  const programs = {
    kubernetes: await installedKubernetes(print),
    node: await installedNodePrograms(print),
  };
  await using _claim = await claimMachine(print);
  const images = await buildImages(programs.node, partFolder('images'), print);
  const cluster = await startPodCluster(programs, images, print);
  await install({ cluster, programs: programs.kubernetes, print });
  return await work(cluster);
}

/**
 * Installs the production overlay with the commands of docs/kubernetes.md. Test installations
 * replace cert-manager, k8ssandra-operator and the NATS chart. Resolves when all pods are ready.
 */
async function install(place: Place): Promise<void> {
  const { cluster, programs, print } = place;
  const { objects } = cluster;
  const step = (what: string, work: () => Promise<unknown>) => withProgress(print, what, work);
  for (const file of readdirSync(programs.definitions)) {
    // Server-side: the definitions are too large for the annotation of client-side apply.
    await objects.applied(['--server-side', '--filename', join(programs.definitions, file)]);
  }
  await objects.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  await step('waiting for cluster DNS', () =>
    rolledOut(objects, 'kube-system', 'deployment/coredns'),
  );
  await objects.applied(['--filename', `${STORES}/namespace.yaml`]);
  await objects.applied(['--filename', `${PRODUCTION}/namespace.yaml`]);
  await makeSecrets(place);
  await installStores(place, step);
  await objects.applied(['--filename', 'test/pods/create-user.yaml']);
  await step('creating the user in Cassandra', () => completed(place, 'job/create-user'));
  await objects.applied(['--kustomize', OVERLAY]);
  await step('waiting for the tables', () => completed(place, 'job/migrate'));
  for (const workload of UPDATE_ORDER) {
    await step(`waiting for ${workload}`, () => rolledOut(objects, NAMESPACE, workload));
  }
  await objects.applied(['--filename', 'test/pods/balancer.yaml']);
  await objects.applied(['--filename', 'test/pods/callers.yaml']);
  await step('waiting for the balancer', () =>
    rolledOut(objects, 'ingress', 'deployment/balancer'),
  );
}

/** Resolves when all pods of a workload are new and available. */
export async function rolledOut(
  objects: KubernetesObjects,
  namespace: string,
  workload: string,
): Promise<void> {
  await objects.kubectl(['-n', namespace, 'rollout', 'status', workload, ROLLOUT]);
}

/** Resolves when a Job of the service is complete. */
async function completed({ cluster }: Place, job: string): Promise<void> {
  const condition = ['--for=condition=complete', job, '--timeout=300s'];
  await cluster.objects.kubectl(['-n', NAMESPACE, 'wait', ...condition]);
}

/** Runs make-secrets.sh, as documented. */
async function makeSecrets({ cluster, programs }: Place): Promise<void> {
  const path = `${dirname(programs.kubectl)}${delimiter}${process.env['PATH']}`;
  const env = { KUBECONFIG: cluster.kubeconfig, PATH: path };
  const args = ['deploy/kubernetes/make-secrets.sh', NAMESPACE];
  const made = await runCommand('sh', args, { env });
  if (!made.isOk) throw new Error(made.err);
}

async function installStores(
  place: Place,
  step: (what: string, work: () => Promise<unknown>) => Promise<unknown>,
): Promise<void> {
  const { objects } = place.cluster;
  const read = ['-n', NAMESPACE, 'get', 'secret', 'nats-passwords', '--output', 'json'];
  const { data } = JSON.parse(await objects.kubectl(read));
  const passwords = secretOf(STORES_NAMESPACE, 'nats-passwords', { data });
  await objects.apply(textOf(passwords, ...storeSettings()));
  await objects.applied(['--filename', `${STORES}/network-policies.yaml`]);
  await objects.applied(['--filename', `${STORES}/certificates.yaml`]);
  await issueCertificates(place.cluster);
  await objects.applied(['--filename', 'test/pods/stores.yaml']);
  const authority = readFileSync(join(partFolder('stores'), 'authority.crt'), 'utf8');
  const named = { name: 'authority-of-stores', namespace: NAMESPACE };
  const trust = { apiVersion: 'v1', kind: 'ConfigMap', metadata: named };
  await objects.apply(textOf({ ...trust, data: { 'ca.crt': authority } }));
  for (const workload of ['statefulset/nats', 'statefulset/cassandra']) {
    await step(`waiting for ${workload}`, () => rolledOut(objects, STORES_NAMESPACE, workload));
  }
}

type Certificate = {
  readonly isCA?: boolean;
  readonly secretName: string;
  readonly dnsNames?: readonly string[];
};

/**
 * Issues all certificates that the manifests of stores and service request, in the place of
 * cert-manager. A repetition rotates the certificates; the authorities stay.
 */
export async function issueCertificates(cluster: PodCluster): Promise<void> {
  const production = await cluster.objects.kubectl(['kustomize', OVERLAY]);
  const stores = readFileSync(`${STORES}/certificates.yaml`, 'utf8');
  await issueFor(cluster, STORES_NAMESPACE, 'stores', stores);
  await issueFor(cluster, NAMESPACE, 'wire', production);
}

/** Issues the certificates of a namespace. `issuer` names the folder of the authority. */
async function issueFor(
  cluster: PodCluster,
  namespace: string,
  issuer: string,
  manifests: string,
): Promise<void> {
  const place = partFolder(issuer);
  mkdirSync(place, { recursive: true });
  const read = (file: string) => readFileSync(join(place, file), 'utf8');
  for (const { spec } of ofKind(manifestsIn(manifests), 'Certificate')) {
    const { isCA = false, secretName, dnsNames = [] } = spec as unknown as Certificate;
    if (isCA) continue;
    const args = ['test/pods/certificates.sh', place, secretName, ...dnsNames];
    await outputOf({ program: 'sh', args, msMax: CERTIFICATE_MS_MAX });
    const [certificate, key] = [read(`${secretName}.crt`), read(`${secretName}.key`)];
    const files = {
      'ca.crt': read('authority.crt'),
      'tls.crt': certificate,
      'tls.key': key,
      // For Cassandra, in the place of Java's key stores.
      'tls-combined.pem': `${key}${certificate}`,
    };
    await cluster.objects.apply(textOf(secretOf(namespace, secretName, { stringData: files })));
  }
}

function secretOf(namespace: string, name: string, content: object): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, ...content };
}

function textOf(...manifests: readonly object[]): string {
  return manifests.map((each) => stringify(each)).join('---\n');
}
