import { dirname } from 'node:path';
import { type GoModule, goBuild } from '#deploy/local/install/go-build';
import { goInstall } from '#deploy/local/install/go-install';
import { builtKubernetes } from '#deploy/local/install/kubernetes';
import type { Print } from '#deploy/local/progress';

const STRIPPED = '-s -w';

const CONTAINERD: GoModule = {
  path: 'github.com/containerd/containerd/v2',
  version: 'v2.1.4',
  besideVersion: undefined,
  go: '1.26.0',
  ldflags: `${STRIPPED} -X github.com/containerd/containerd/v2/version.Version=v2.1.4`,
};

/** Starts containers. Older versions refuse the specifications of containerd 2. */
const RUNC: GoModule = {
  path: 'github.com/opencontainers/runc',
  version: 'v1.3.3',
  besideVersion: undefined,
  go: '1.26.0',
  ldflags: `${STRIPPED} -X main.version=1.3.3`,
  tags: 'seccomp',
  hasC: true,
};

/** Enforces network policies. Its router and its proxy for Services stay off. */
const KUBE_ROUTER: GoModule = {
  path: 'github.com/cloudnativelabs/kube-router/v2',
  version: 'v2.1.0',
  besideVersion: undefined,
  go: '1.26.0',
  ldflags: STRIPPED,
};

const COREDNS: GoModule = {
  path: 'github.com/coredns/coredns',
  version: 'v1.12.4',
  besideVersion: undefined,
  go: '1.26.0',
  ldflags: STRIPPED,
};

/** Version of the CNI plugins. */
const CNI_VERSION = 'v1.7.1';
const CNI_PLUGINS = ['main/bridge', 'main/loopback', 'ipam/host-local', 'meta/portmap'] as const;

/** Paths of the programs of a Kubernetes node. */
export type NodePrograms = {
  readonly containerd: string;
  /** Folder of `containerd-shim-runc-v2`, which containerd finds in its `PATH`. */
  readonly shimFolder: string;
  /** Client of containerd. */
  readonly ctr: string;
  readonly runc: string;
  /** Folders of the CNI plugins. */
  readonly cniFolders: readonly string[];
  readonly kubelet: string;
  readonly kubeProxy: string;
  readonly kubeRouter: string;
  readonly coredns: string;
};

/**
 * Builds the programs of a node with Go into the cache, once. The first build takes about eight
 * minutes after `installedKubernetes`. Throws `MissingServer`.
 */
export async function installedNodePrograms(print: Print): Promise<NodePrograms> {
  const containerd = (name: string) =>
    goBuild(CONTAINERD, { name, path: `${CONTAINERD.path}/cmd/${name}` }, print);
  const cniFolders: string[] = [];
  for (const plugin of CNI_PLUGINS) cniFolders.push(dirname(await cniPlugin(plugin, print)));
  // Build sequentially: each build uses all cores.
  return {
    cniFolders,
    containerd: await containerd('containerd'),
    shimFolder: dirname(await containerd('containerd-shim-runc-v2')),
    ctr: await containerd('ctr'),
    runc: await goBuild(RUNC, { name: 'runc', path: RUNC.path }, print),
    kubelet: await builtKubernetes('kubelet', print),
    kubeProxy: await builtKubernetes('kube-proxy', print),
    kubeRouter: await goBuild(
      KUBE_ROUTER,
      { name: 'kube-router', path: `${KUBE_ROUTER.path}/cmd/kube-router` },
      print,
    ),
    coredns: await goBuild(COREDNS, { name: 'coredns', path: COREDNS.path }, print),
  };
}

function cniPlugin(plugin: (typeof CNI_PLUGINS)[number], print: Print): Promise<string> {
  const binary = plugin.slice(plugin.indexOf('/') + 1);
  const path = `github.com/containernetworking/plugins/plugins/${plugin}`;
  return goInstall({ name: `cni-${binary}`, path, version: CNI_VERSION, binary }, print);
}
