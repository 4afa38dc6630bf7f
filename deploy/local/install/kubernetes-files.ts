import { copyFile, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { goProgram } from '#deploy/local/install/go-program';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** Maximum download time of an operator's source, in milliseconds. */
const FETCH_MS_MAX = 300_000;

/** Version of the cache folder. Increment when `SOURCES` changes. */
const VERSION = 1;

/** Files to fetch from other projects, with their kind. */
const SOURCES = [
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    folder: 'example/prometheus-operator-crd',
    files: ['monitoring.coreos.com_podmonitors.yaml', 'monitoring.coreos.com_prometheusrules.yaml'],
    kind: 'definitions',
  },
  {
    module: 'github.com/cert-manager/cert-manager@v1.21.2',
    folder: 'deploy/crds',
    files: ['cert-manager.io_certificates.yaml', 'cert-manager.io_issuers.yaml'],
    kind: 'definitions',
  },
  {
    module: 'sigs.k8s.io/kwok@v0.8.0',
    folder: 'kustomize/stage',
    files: [
      ...[
        'node/fast/node-initialize.yaml',
        'node/heartbeat-with-lease/node-heartbeat-with-lease.yaml',
      ],
      ...['pod/fast/pod-ready.yaml', 'pod/fast/pod-complete.yaml', 'pod/fast/pod-delete.yaml'],
    ],
    kind: 'stages',
  },
] as const;

/** Folders with the fetched files. */
export type KubernetesFiles = {
  /** Definitions of the custom resources in the manifests, as operators ship them. */
  readonly definitions: string;
  /** Stages: kwok's rules for nodes and pods. */
  readonly stages: string;
};

/** Fetches the files with Go into the cache, once. Throws `MissingServer`. */
export async function installedKubernetesFiles(print: Print): Promise<KubernetesFiles> {
  const root = await installOnce(`kubernetes-files-${VERSION}-go`, async (target) => {
    const go = await goProgram('fetching custom resources', print);
    for (const { module, folder, files, kind } of SOURCES) {
      const args = ['mod', 'download', '-json', module];
      const fetch = () => runProgram({ program: go, args, msMax: FETCH_MS_MAX });
      const { isOk, output } = await withProgress(print, `fetching ${module}`, fetch);
      if (!isOk) throw new MissingServer(`${module} could not be fetched: ${lastLine(output)}`);
      const { Dir } = JSON.parse(output.slice(output.indexOf('{'))) as { Dir: string };
      await mkdir(join(target, kind), { recursive: true });
      for (const file of files) {
        await copyFile(join(Dir, folder, file), join(target, kind, basename(file)));
      }
    }
  });
  return { definitions: join(root, 'definitions'), stages: join(root, 'stages') };
}
