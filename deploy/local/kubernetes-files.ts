import { copyFile, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { goProgram } from '#deploy/local/go-program';
import { installOnce } from '#deploy/local/install-once';
import { MissingServer } from '#deploy/local/missing-server';
import { type Print, withProgress } from '#deploy/local/progress';
import { lastLine, runProgram } from '#deploy/local/run-program';

/** Fetching the source of an operator takes some seconds; milliseconds. */
const FETCH_MS_MAX = 300_000;

/** Counted up when the list below changes: the name of the folder in the cache. */
const VERSION = 1;

/** What is taken from the sources of others, and what it is there. */
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

/** Folders of files that belong to programs of others. */
export type KubernetesFiles = {
  /** The definitions of the custom resources that the manifests use, as their operators ship them. */
  readonly definitions: string;
  /** What kwok does with nodes and pods. */
  readonly stages: string;
};

/** Those files, fetched by Go into the cache. Throws `MissingServer`. */
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
