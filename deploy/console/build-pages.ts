import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';
import { runbookEntries } from '#deploy/console/runbook-entries';

/** Source folder of the console's pages. */
const SOURCES = 'services/programs/console/pages';

/** Minimum browser versions: the first with `light-dark()` and `toSorted`. */
const BROWSERS = ['chrome123', 'firefox120', 'safari17.5'];

/** A page with its own script and style. */
type Bundle = {
  readonly script: string;
  readonly style: string;
  readonly title: string;
  /** Folder of the document and its `assets`, in the output and in addresses. */
  readonly folder: string;
};

const BUNDLES: readonly Bundle[] = [
  { script: 'main.tsx', style: 'style.css', title: 'Identity Engine', folder: '' },
  { script: 'cluster-main.tsx', style: 'cluster.css', title: 'Cluster', folder: 'cluster' },
];

/**
 * Builds the console's pages into `folder`, and the cluster page into its sub-folder `cluster`.
 * Each page has a document and a folder `assets` with script, style and picture, whose names
 * contain content hashes. Replaces the whole output folder. Source: decisions 251 and 261.
 */
export async function buildPages(folder: string): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const made = mkdtempSync(`${folder}-`);
  try {
    for (const bundle of BUNDLES) {
      const place = join(made, bundle.folder);
      const assets = await assetsIn(join(place, 'assets'), bundle);
      writeFileSync(join(place, 'index.html'), documentOf(assets, bundle));
    }
    // In the image, the user that serves the files differs from the builder.
    chmodSync(made, 0o755);
    rmSync(folder, { recursive: true, force: true });
    renameSync(made, folder);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** Builds script, style and picture. Returns their names by file extension. */
async function assetsIn(
  folder: string,
  { script, style }: Bundle,
): Promise<ReadonlyMap<string, string>> {
  const { metafile } = await build({
    entryPoints: [script, style, 'icon.svg'].map((name) => join(SOURCES, name)),
    outdir: folder,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: BROWSERS,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'copy' },
    // Ignore the project's tsconfig, which is for the type checker.
    tsconfigRaw: '{}',
    define: { RUNBOOK: JSON.stringify(runbookEntries()) },
    metafile: true,
    logLevel: 'warning',
  });
  const names = Object.keys(metafile.outputs).map((path) => basename(path));
  return new Map(names.map((name) => [name.replace(/^.*\./, ''), name]));
}

function documentOf(
  assets: ReadonlyMap<string, string>,
  { title, folder }: Pick<Bundle, 'title' | 'folder'>,
): string {
  const address = (end: string) => {
    const name = assets.get(end);
    if (name === undefined) throw new Error(`esbuild wrote no .${end} file`);
    return `${folder === '' ? '' : `/${folder}`}/assets/${name}`;
  };
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="robots" content="noindex">
  <title>${title}</title>
  <link rel="icon" type="image/svg+xml" href="${address('svg')}">
  <link rel="stylesheet" href="${address('css')}">
  <script type="module" src="${address('js')}"></script>
</head>
<body>
  <div id="root"></div>
  <noscript>This page needs JavaScript.</noscript>
</body>
</html>
`;
}
