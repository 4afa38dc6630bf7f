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
  /** Script that runs before the first paint. */
  readonly early?: string;
  readonly title: string;
  /** Folder of the document and its `assets`, in the output and in addresses. */
  readonly folder: string;
};

const BUNDLES: readonly Bundle[] = [
  {
    ...{ script: 'main.tsx', style: 'style.css', early: 'theme-early.ts' },
    ...{ title: 'Identity Engine', folder: '' },
  },
  { script: 'cluster-main.tsx', style: 'cluster.css', title: 'Cluster', folder: 'cluster' },
];

/**
 * Builds the console's pages into `folder`, and the cluster page into its sub-folder `cluster`.
 * Each page has a document and a folder `assets` with scripts, style and picture, whose names
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

/** Names of a page's assets. */
type Assets = {
  /** Script that applies the theme, before the style. Undefined for a page without themes. */
  readonly early: string | undefined;
  readonly script: string;
  /** Scripts that `script` needs at once. Further scripts are loaded when they are needed. */
  readonly shared: readonly string[];
  readonly style: string;
  readonly icon: string;
};

/** Builds scripts, style and picture. Returns their names. */
async function assetsIn(folder: string, { script, style, early }: Bundle): Promise<Assets> {
  const entries = [script, style, 'icon.svg', ...(early === undefined ? [] : [early])];
  const { metafile } = await build({
    entryPoints: entries.map((name) => join(SOURCES, name)),
    outdir: folder,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
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
  const outputs = Object.entries(metafile.outputs);
  const pathFrom = (entry: string) =>
    outputs.find(([, { entryPoint }]) => entryPoint === join(SOURCES, entry))?.[0];
  const pathOf = (path: string | undefined) => {
    if (path === undefined) throw new Error(`esbuild wrote too few files from ${script}`);
    return basename(path);
  };
  const main = pathFrom(script);
  const needed = metafile.outputs[main ?? '']?.imports ?? [];
  return {
    early: early === undefined ? undefined : pathOf(pathFrom(early)),
    script: pathOf(main),
    shared: needed
      .filter(({ kind }) => kind === 'import-statement')
      .map(({ path }) => basename(path)),
    style: pathOf(pathFrom(style)),
    icon: pathOf(outputs.find(([path]) => path.endsWith('.svg'))?.[0]),
  };
}

function documentOf(
  { early, script, shared, style, icon }: Assets,
  { title, folder }: Pick<Bundle, 'title' | 'folder'>,
): string {
  const address = (name: string) => `${folder === '' ? '' : `/${folder}`}/assets/${name}`;
  const lines = [
    `<link rel="icon" type="image/svg+xml" href="${address(icon)}">`,
    ...(early === undefined ? [] : [`<script src="${address(early)}"></script>`]),
    `<link rel="stylesheet" href="${address(style)}">`,
    ...shared.map((name) => `<link rel="modulepreload" href="${address(name)}">`),
    `<script type="module" src="${address(script)}"></script>`,
  ];
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="robots" content="noindex">
  <title>${title}</title>
  ${lines.join('\n  ')}
</head>
<body>
  <div id="root"></div>
  <noscript>This page needs JavaScript.</noscript>
</body>
</html>
`;
}
