import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { KubernetesPrograms } from '#deploy/local/install/kubernetes';
import { freePort } from '#deploy/local/servers/free-port';
import {
  type LocalServer,
  type ServerCommand,
  startServer,
} from '#deploy/local/servers/local-server';
import { type Answer, runCommand } from '#test/kubernetes/run-command';

/** Maximum start time, in ms. A start usually takes three seconds. */
const READY_MS_MAX = 90_000;

/** Administrator's token, valid on this machine until the test ends. */
const TOKEN = 'administrator';

/** A Kubernetes control plane on loopback without containers, until disposed. */
export type ControlPlane = AsyncDisposable & {
  readonly kubeconfig: string;
  /** Runs kubectl against this control plane. */
  kubectl(args: readonly string[], input?: string): Promise<Answer>;
};

/**
 * Starts etcd, an API server with admission, controllers, a scheduler and simulated kubelets on
 * free loopback ports. `folder` receives all data.
 */
export async function startControlPlane(
  programs: KubernetesPrograms,
  folder: string,
): Promise<ControlPlane> {
  await using opening = new AsyncDisposableStack();
  const [clients, peers, api, controllers, scheduler] = await freePorts(5);
  const start = async (command: Omit<ServerCommand, 'readyMsMax'>): Promise<LocalServer> => {
    const place = { folder: join(folder, command.name), logFolder: folder };
    return opening.use(await startServer(place, { ...command, readyMsMax: READY_MS_MAX }));
  };
  const { tokens, key, kubeconfig } = writeFiles(folder, api);
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
    ask: () => reached(clients),
  });
  await start({
    name: 'kube-apiserver',
    program: programs.apiserver,
    args: apiServerArguments({ etcd, api, folder, tokens, key }),
    address: `https://127.0.0.1:${api}`,
    ask: () => readyAt(api),
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
    ],
    address: `https://127.0.0.1:${controllers}`,
    ask: () => reached(controllers),
  });
  await start({
    name: 'kube-scheduler',
    program: programs.scheduler,
    args: [...common, `--secure-port=${scheduler}`, `--cert-dir=${folder}`],
    address: `https://127.0.0.1:${scheduler}`,
    ask: () => reached(scheduler),
  });
  await start({
    name: 'kwok',
    program: programs.kwok,
    args: [
      ...[`--kubeconfig=${kubeconfig}`, '--manage-all-nodes', '--node-lease-duration-seconds=40'],
      ...readdirSync(programs.stages).map((file) => `--config=${join(programs.stages, file)}`),
    ],
    address: kubeconfig,
    ask: async () => undefined,
  });
  const opened = opening.move();
  return {
    kubeconfig,
    kubectl: (args, input = '') =>
      runCommand(programs.kubectl, [`--kubeconfig=${kubeconfig}`, ...args], { input }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
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

function writeFiles(folder: string, api = 0) {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const cluster = { server: `https://127.0.0.1:${api}`, 'insecure-skip-tls-verify': true };
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
  readonly api: number | undefined;
  readonly folder: string;
  readonly tokens: string;
  readonly key: string;
}): string[] {
  const { etcd, api, folder, tokens, key } = place;
  return [
    ...[`--etcd-servers=${etcd}`, '--bind-address=127.0.0.1', `--secure-port=${api}`],
    ...['--advertise-address=127.0.0.1', `--cert-dir=${folder}`, '--endpoint-reconciler-type=none'],
    ...[`--token-auth-file=${tokens}`, '--authorization-mode=RBAC'],
    ...['--service-account-issuer=https://127.0.0.1', '--service-cluster-ip-range=10.96.0.0/16'],
    ...[`--service-account-key-file=${key}`, `--service-account-signing-key-file=${key}`],
  ];
}

/** Resolves if a process listens on the port, else rejects. */
function reached(port = 0): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject).once('connect', () => {
      socket.destroy();
      resolve();
    });
  });
}

/**
 * Resolves if the API server is ready, else rejects. Accepts the server's self-signed certificate.
 */
function readyAt(port = 0): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const options = { host: '127.0.0.1', port, path: '/readyz', headers, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    const asking = request(options, (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`the API server is not ready: status ${response.statusCode}`));
    });
    asking.once('error', reject).end();
  });
}
