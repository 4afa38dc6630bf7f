import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { KubernetesPrograms } from '#deploy/local/install/kubernetes';
import { freePort } from '#deploy/local/servers/free-port';
import {
  type LocalServer,
  type ServerCommand,
  startServer,
} from '#deploy/local/servers/local-server';
import { reached } from '#deploy/local/servers/reached';
import { type Answer, runCommand } from '#test/kubernetes/run-command';

/** Maximum start time, in ms. A start usually takes three seconds. */
const READY_MS_MAX = 90_000;

const LOOPBACK = '127.0.0.1';

/** Administrator's token of this process. Other users and pods reach the API server, too. */
const TOKEN = randomBytes(16).toString('hex');

/** Where the nodes of a control plane run. */
export type Nodes =
  /** Simulated nodes: pods become ready, but run no containers. */
  | { readonly kind: 'simulated' }
  /** Real nodes, which reach the API server at `host`. */
  | { readonly kind: 'real'; readonly host: string };

/** A Kubernetes control plane, until disposed. */
export type ControlPlane = AsyncDisposable & {
  readonly kubeconfig: string;
  /** Runs kubectl against this control plane. */
  kubectl(args: readonly string[], input?: string): Promise<Answer>;
};

/**
 * Starts etcd, an API server with admission, controllers and a scheduler on free ports; with
 * simulated nodes, also their kubelets. `folder` receives all data.
 */
export async function startControlPlane(
  programs: KubernetesPrograms,
  folder: string,
  nodes: Nodes = { kind: 'simulated' },
): Promise<ControlPlane> {
  await using opening = new AsyncDisposableStack();
  const [clients, peers, api, controllers, scheduler] = await freePorts(5);
  const start = async (command: Omit<ServerCommand, 'readyMsMax'>): Promise<LocalServer> => {
    const place = { folder: join(folder, command.name), logFolder: folder };
    return opening.use(await startServer(place, { ...command, readyMsMax: READY_MS_MAX }));
  };
  const isServed = (port = 0) => reached({ host: LOOPBACK, port });
  const host = nodes.kind === 'real' ? nodes.host : LOOPBACK;
  const server = `https://${host}:${api}`;
  const { tokens, key, kubeconfig } = writeFiles(folder, server);
  const etcd = `http://127.0.0.1:${clients}`;
  await start({
    name: 'etcd',
    program: programs.etcd,
    args: [
      ...[`--data-dir=${join(folder, 'data')}`, '--unsafe-no-fsync'],
      ...[`--listen-client-urls=${etcd}`, `--advertise-client-urls=${etcd}`],
      ...[`--listen-peer-urls=http://127.0.0.1:${peers}`],
      `--initial-advertise-peer-urls=http://127.0.0.1:${peers}`,
      `--initial-cluster=default=http://127.0.0.1:${peers}`,
    ],
    address: etcd,
    ask: () => isServed(clients),
  });
  await start({
    name: 'kube-apiserver',
    program: programs.apiserver,
    args: apiServerArguments({ etcd, host, api, folder, tokens, key, nodes }),
    address: server,
    ask: () => readyAt(server),
  });
  const common = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--bind-address=127.0.0.1'];
  await start({
    name: 'kube-controller-manager',
    program: programs.controllerManager,
    args: [
      ...common,
      `--secure-port=${controllers}`,
      `--cert-dir=${folder}`,
      `--service-account-private-key-file=${key}`,
      ...controllerArguments(nodes, folder),
    ],
    address: `https://127.0.0.1:${controllers}`,
    ask: () => isServed(controllers),
  });
  await start({
    name: 'kube-scheduler',
    program: programs.scheduler,
    args: [...common, `--secure-port=${scheduler}`, `--cert-dir=${folder}`],
    address: `https://127.0.0.1:${scheduler}`,
    ask: () => isServed(scheduler),
  });
  if (nodes.kind === 'simulated') await start(simulatedKubelets(programs, kubeconfig));
  const opened = opening.move();
  return {
    kubeconfig,
    kubectl: (args, input = '') =>
      runCommand(programs.kubectl, [`--kubeconfig=${kubeconfig}`, ...args], { input }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function simulatedKubelets(
  { kwok, stages }: KubernetesPrograms,
  kubeconfig: string,
): Omit<ServerCommand, 'readyMsMax'> {
  return {
    name: 'kwok',
    program: kwok,
    args: [
      ...[`--kubeconfig=${kubeconfig}`, '--manage-all-nodes', '--node-lease-duration-seconds=40'],
      ...readdirSync(stages).map((file) => `--config=${join(stages, file)}`),
    ],
    address: kubeconfig,
    ask: async () => undefined,
  };
}

async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = await freePort();
    if (!ports.includes(port)) ports.push(port);
  }
  return ports;
}

function writeFiles(folder: string, server: string) {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const cluster = { server, 'insecure-skip-tls-verify': true };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user: { token: TOKEN } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  };
  return {
    tokens: write('tokens.csv', `${TOKEN},administrator,1,"system:masters"\n`),
    key: write('accounts.key', privateKey.export({ type: 'pkcs8', format: 'pem' }) as string),
    kubeconfig: write('kubeconfig', JSON.stringify(config)),
  };
}

function apiServerArguments(place: {
  readonly etcd: string;
  readonly host: string;
  readonly api: number | undefined;
  readonly folder: string;
  readonly tokens: string;
  readonly key: string;
  readonly nodes: Nodes;
}): string[] {
  const { etcd, host, api, folder, tokens, key, nodes } = place;
  return [
    ...[`--etcd-servers=${etcd}`, `--bind-address=${host}`, `--secure-port=${api}`],
    ...[`--advertise-address=${host}`, `--cert-dir=${folder}`],
    ...[`--token-auth-file=${tokens}`, '--authorization-mode=RBAC'],
    ...['--service-account-issuer=https://127.0.0.1', '--service-cluster-ip-range=10.96.0.0/16'],
    ...[`--service-account-key-file=${key}`, `--service-account-signing-key-file=${key}`],
    // On loopback, the Service `kubernetes` has no address that other programs reach.
    ...(nodes.kind === 'simulated'
      ? ['--endpoint-reconciler-type=none']
      : ['--allow-privileged=true', '--kubelet-preferred-address-types=InternalIP']),
  ];
}

/** Arguments of the controllers for real nodes. Pods trust the API server's own certificate. */
function controllerArguments(nodes: Nodes, folder: string): string[] {
  if (nodes.kind === 'simulated') return [];
  return ['--node-monitor-grace-period=20s', `--root-ca-file=${join(folder, 'apiserver.crt')}`];
}

/**
 * Resolves if the API server is ready, else rejects. Accepts the server's self-signed certificate.
 */
function readyAt(server: string): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  return new Promise((resolve, reject) => {
    const options = { headers, rejectUnauthorized: false };
    const asking = request(`${server}/readyz`, options, (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`the API server is not ready: status ${response.statusCode}`));
    });
    asking.once('error', reject).end();
  });
}
