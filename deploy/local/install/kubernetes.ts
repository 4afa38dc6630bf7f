import { type GoModule, goBuild } from '#deploy/local/install/go-build';
import { goInstall } from '#deploy/local/install/go-install';
import {
  installedKubernetesFiles,
  type KubernetesFiles,
} from '#deploy/local/install/kubernetes-files';
import { installedKubernetesSchemas } from '#deploy/local/install/kubernetes-schemas';
import type { Print } from '#deploy/local/progress';

/** Release that runs the manifests in tests; also the newest release whose schemas are checked. */
export const KUBERNETES: GoModule = {
  path: 'k8s.io/kubernetes',
  version: 'v1.36.3',
  besideVersion: 'v0.36.3',
  go: '1.26.0',
  // Without these flags, an API server reports version 0.0 and serves no newer APIs.
  ldflags: [
    '-s -w',
    '-X k8s.io/component-base/version.gitVersion=v1.36.3',
    '-X k8s.io/component-base/version.gitMajor=1',
    '-X k8s.io/component-base/version.gitMinor=36',
  ].join(' '),
};

const ETCD: GoModule = {
  path: 'go.etcd.io/etcd/server/v3',
  version: 'v3.7.3',
  besideVersion: undefined,
  go: '1.26.0',
  ldflags: '-s -w',
};

/** Simulates kubelets: pods run nothing and become ready. */
const KWOK = {
  name: 'kwok',
  path: 'sigs.k8s.io/kwok/cmd/kwok',
  version: 'v0.8.0',
  binary: 'kwok',
} as const;

/** Validates manifests against API schemas. */
const KUBECONFORM = {
  name: 'kubeconform',
  path: 'github.com/yannh/kubeconform/cmd/kubeconform',
  version: 'v0.8.0',
  binary: 'kubeconform',
} as const;

/** Paths of Kubernetes programs, which run without containers, and a folder of schemas. */
export type KubernetesPrograms = KubernetesFiles & {
  readonly etcd: string;
  readonly apiserver: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  readonly kubectl: string;
  readonly kwok: string;
  readonly kubeconform: string;
  readonly schemas: string;
};

/** Builds a program of Kubernetes with Go into the cache, once. Throws `MissingServer`. */
export function builtKubernetes(name: string, print: Print): Promise<string> {
  return goBuild(KUBERNETES, { name, path: `${KUBERNETES.path}/cmd/${name}` }, print);
}

/**
 * Builds the programs of Kubernetes with Go into the cache, once. The first build takes about eight
 * minutes; after an interruption, the next build continues. Throws `MissingServer`.
 */
export async function installedKubernetes(print: Print): Promise<KubernetesPrograms> {
  const kubernetes = (name: string) => builtKubernetes(name, print);
  // Build sequentially: each build uses all cores and reuses parts of the previous build.
  return {
    schemas: await installedKubernetesSchemas(print),
    ...(await installedKubernetesFiles(print)),
    kubeconform: await goInstall(KUBECONFORM, print),
    kwok: await goInstall(KWOK, print),
    etcd: await goBuild(ETCD, { name: 'etcd', path: ETCD.path }, print),
    kubectl: await kubernetes('kubectl'),
    apiserver: await kubernetes('kube-apiserver'),
    controllerManager: await kubernetes('kube-controller-manager'),
    scheduler: await kubernetes('kube-scheduler'),
  };
}
