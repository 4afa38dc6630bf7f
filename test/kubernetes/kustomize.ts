import type { suite as plainSuite } from 'uvu';
import { installedKustomize } from '#deploy/local/install/kustomize';
import { MissingServer } from '#deploy/local/install/missing-server';
import { printNothing } from '#deploy/local/progress';
import {
  type Manifest,
  OVERLAYS,
  type Overlay,
  rendered,
  renderedWithEveryComponent,
} from '#test/kubernetes/manifest';
import { suiteUnless } from '#test/support/servers/real-servers';

const { program, lack } = await installedKustomize(printNothing).then(
  (file) => ({ program: file, lack: undefined }),
  (error: Error) => {
    if (!(error instanceof MissingServer)) throw error;
    return { program: undefined, lack: error.message };
  },
);

/** uvu's `suite`; skips the tests if kustomize is not available. */
export const suite: typeof plainSuite = (name, context) => suiteUnless(lack)(name, context);

/** Every overlay with its rendered manifests. Without kustomize, the manifests are empty. */
export const OVERLAY_MANIFESTS: readonly (readonly [Overlay, readonly Manifest[]])[] = OVERLAYS.map(
  (overlay) => [overlay, program === undefined ? [] : rendered(program, overlay)],
);

/** Manifests of production with every optional component; empty without kustomize. */
export const WITH_EVERY_COMPONENT: readonly Manifest[] =
  program === undefined ? [] : renderedWithEveryComponent(program);
