import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { NodePrograms } from '#deploy/local/install/kubernetes-node';
import { outputOf } from '#deploy/local/processes/run-program';
import { type LocalServer, startServer } from '#deploy/local/servers/local-server';
import { reached } from '#deploy/local/servers/reached';
import { groupOf, makeControlGroup } from '#test/pods/containers';
import { partFolder } from '#test/pods/machine';
import { DNS_ADDRESS, insideNode, type NodePlace, POD_NETWORK } from '#test/pods/network';

/** Maximum start time of a program of a node, in ms. */
const READY_MS_MAX = 90_000;

/** Maximum time to load an image into containerd, in ms. The largest image takes 10 s. */
const IMPORT_MS_MAX = 300_000;

/** Name of the image that keeps the namespaces of a pod. */
export const PAUSE_IMAGE = 'localhost/pause:1';

/** Size of the disk for logs of a node, in MiB. Separate, because one scene fills this disk. */
const LOG_DISK_MIB = 64;

/** A node with real containers. */
export type PodNode = {
  readonly place: NodePlace;
  /** Folder of the logs of all containers, on a small disk. */
  readonly logFolder: string;
  /** Pids of the processes in a container, first the process with pid 1 inside. */
  pidsOf(containerId: string): Promise<readonly number[]>;
};

type NodeOptions = {
  readonly programs: NodePrograms;
  readonly kubeconfig: string;
  /** Image archives to load. */
  readonly images: readonly string[];
  readonly place: NodePlace;
};

/**
 * Starts containerd, kubelet, kube-proxy and a network policy controller in the network namespace
 * of a node. Resolves when the node has its images; the node registers itself.
 */
export async function startNode(options: NodeOptions): Promise<PodNode> {
  const { place, programs, kubeconfig, images } = options;
  const folder = partFolder(place.name);
  await mkdir(folder, { recursive: true });
  const logFolder = join(folder, 'logs');
  await mountLogDisk(logFolder);
  const start = (name: string, args: readonly string[], ask: () => Promise<unknown>) =>
    startProgram(options, { name, args, ask });
  const socket = join(folder, 'cd.sock');
  await writeFile(join(folder, 'containerd.toml'), containerdSettings(options));
  await mkdir(join(folder, 'cni'), { recursive: true });
  await writeFile(join(folder, 'cni/10-pods.conflist'), JSON.stringify(cniSettings(options)));
  const containerd = [programs.containerd, '--config', join(folder, 'containerd.toml')];
  await start('containerd', containerd, () => reached({ path: socket }));
  const ctr = (...args: readonly string[]) =>
    outputOf({
      program: programs.ctr,
      args: ['--address', socket, '--namespace', 'k8s.io', ...args],
      msMax: IMPORT_MS_MAX,
    });
  for (const image of images) await ctr('images', 'import', '--local', image);
  makeControlGroup(place.name);
  await writeFile(join(folder, 'kubelet.yaml'), stringify(kubeletSettings(options, logFolder)));
  const identity = [`--kubeconfig=${kubeconfig}`, `--hostname-override=${place.name}`];
  await start(
    'kubelet',
    [
      ...[programs.kubelet, ...identity, `--config=${join(folder, 'kubelet.yaml')}`],
      ...[`--root-dir=${join(folder, 'kubelet')}`, `--node-ip=${place.address}`],
      `--node-labels=topology.kubernetes.io/zone=${place.zone}`,
    ],
    () => reached({ host: place.address, port: KUBELET_PORT }),
  );
  await start(
    'kube-proxy',
    [
      ...[programs.kubeProxy, ...identity, '--proxy-mode=iptables'],
      ...[`--cluster-cidr=${POD_NETWORK}`, '--conntrack-max-per-core=0'],
      `--healthz-bind-address=${place.address}:10256`,
      `--metrics-bind-address=${place.address}:10249`,
    ],
    () => reached({ host: place.address, port: 10_256 }),
  );
  return {
    place,
    logFolder,
    async pidsOf(containerId) {
      const tasks = await ctr('tasks', 'ps', containerId);
      return [...tasks.matchAll(/^(\d+)/gm)].map(([pid]) => Number(pid));
    },
  };
}

/**
 * Starts the controller that enforces network policies. Requires that the node is registered with
 * its pod network.
 */
export function startPolicies(options: NodeOptions): Promise<LocalServer> {
  const { place, programs, kubeconfig } = options;
  const args = [
    ...[programs.kubeRouter, `--kubeconfig=${kubeconfig}`, `--hostname-override=${place.name}`],
    ...['--run-firewall=true', '--run-router=false', '--run-service-proxy=false'],
    ...['--cache-sync-timeout=60s', '--health-port=20244'],
  ];
  const ask = () => reached({ host: place.address, port: 20_244 });
  return startProgram(options, { name: 'kube-router', args, ask });
}

const KUBELET_PORT = 16_250;

type NodeProgram = {
  readonly name: string;
  /** Program and arguments. */
  readonly args: readonly string[];
  readonly ask: () => Promise<unknown>;
};

function startProgram(
  { place, programs }: NodeOptions,
  { name, args, ask }: NodeProgram,
): Promise<LocalServer> {
  const [program = '', ...rest] = [...insideNode(place), ...args];
  const folder = partFolder(place.name);
  const path = `${programs.shimFolder}:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin`;
  return startServer(
    { folder: join(folder, name), logFolder: folder },
    {
      name,
      program,
      args: rest,
      env: { PATH: path, HOME: '/root' },
      address: place.address,
      readyMsMax: READY_MS_MAX,
      ask,
    },
  );
}

function containerdSettings({ place, programs }: NodeOptions): string {
  const folder = partFolder(place.name);
  const runtime = {
    version: 3,
    root: join(folder, 'cdroot'),
    state: join(folder, 'cdstate'),
    grpc: { address: join(folder, 'cd.sock') },
    plugins: {
      'io.containerd.cri.v1.runtime': {
        // A root without CAP_SYS_RESOURCE may not lower the score for the OOM killer.
        restrict_oom_score_adj: true,
        // The network namespaces of pods then end with the other mounts of the node.
        netns_mounts_under_state_dir: true,
        cni: { bin_dirs: programs.cniFolders, conf_dir: join(folder, 'cni') },
        containerd: {
          default_runtime_name: 'runc',
          runtimes: {
            runc: {
              runtime_type: 'io.containerd.runc.v2',
              options: { SystemdCgroup: false, BinaryName: programs.runc },
            },
          },
        },
      },
      'io.containerd.cri.v1.images': { pinned_images: { sandbox: PAUSE_IMAGE } },
    },
  };
  return tomlOf(runtime);
}

/** TOML of nested tables. Values are JSON, which is valid TOML for texts, numbers and lists. */
function tomlOf(table: object, path: readonly string[] = []): string {
  const entries = Object.entries(table);
  const isTable = (value: unknown): value is object =>
    typeof value === 'object' && !Array.isArray(value);
  const head = path.length === 0 ? '' : `[${path.map((name) => JSON.stringify(name)).join('.')}]\n`;
  const values = entries
    .filter(([, value]) => !isTable(value))
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
  const tables = entries.flatMap(([name, value]) =>
    isTable(value) ? [tomlOf(value, [...path, name])] : [],
  );
  return [head, ...values, ...tables].join('');
}

function cniSettings({ place }: NodeOptions): object {
  const dataDir = join(partFolder(place.name), 'ipam');
  const ranges = [[{ subnet: place.podNetwork }]];
  const routes = [{ dst: '0.0.0.0/0' }];
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ipam: { type: 'host-local', dataDir, ranges, routes },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

function kubeletSettings({ place }: NodeOptions, logFolder: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${groupOf(place.name)}`,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    containerRuntimeEndpoint: `unix://${join(partFolder(place.name), 'cd.sock')}`,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    address: place.address,
    port: KUBELET_PORT,
    readOnlyPort: 0,
    healthzPort: 0,
    resolvConf: '/etc/resolv.conf',
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: 'cluster.local',
    podLogsDir: logFolder,
    evictionHard: { 'memory.available': '100Mi' },
    // Images come only from archives, so a deleted image could not be pulled again.
    imageGCHighThresholdPercent: 100,
    nodeStatusUpdateFrequency: '5s',
  };
}

async function mountLogDisk(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const args = ['-t', 'tmpfs', '-o', `size=${LOG_DISK_MIB}m`, 'tmpfs', folder];
  await outputOf({ program: 'mount', args, msMax: READY_MS_MAX });
}
