import { goInstall } from '#deploy/local/install/go-install';
import type { Print } from '#deploy/local/progress';

/** Same version as in `kubectl` 1.36. */
const KUSTOMIZE = {
  name: 'kustomize',
  path: 'sigs.k8s.io/kustomize/kustomize/v5',
  version: 'v5.8.1',
  binary: 'kustomize',
} as const;

/** Path of `kustomize`, built by Go into the cache. Throws `MissingServer`. */
export function installedKustomize(print: Print): Promise<string> {
  return goInstall(KUSTOMIZE, print);
}
