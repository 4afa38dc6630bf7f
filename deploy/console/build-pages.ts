import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';

/** Where the pages of the console have their sources. */
const SOURCES = 'services/console/pages';

/** What browsers must know, the oldest of them from 2024: `light-dark()`, `toSorted`. */
const BROWSERS = ['chrome123', 'firefox120', 'safari17.5'];

/**
 * Builds the pages of the console into `folder`: a document, and beside it in `assets` one script, one
 * style and one picture, whose names change with their contents. The folder is complete or not there.
 * Source: decision 251.
 */
export async function buildPages(folder: string): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const made = mkdtempSync(`${folder}-`);
  try {
    writeFileSync(join(made, 'index.html'), documentOf(await assetsIn(join(made, 'assets'))));
    // Another user than the one who builds serves it in the image.
    chmodSync(made, 0o755);
    rmSync(folder, { recursive: true, force: true });
    renameSync(made, folder);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** Builds script, style and picture, and answers their names by the ends of these. */
async function assetsIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const { metafile } = await build({
    entryPoints: ['main.tsx', 'style.css', 'icon.svg'].map((name) => join(SOURCES, name)),
    outdir: folder,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: BROWSERS,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'copy' },
    // Only these options count, not what else is there for the type checker.
    tsconfigRaw: '{}',
    metafile: true,
    logLevel: 'warning',
  });
  const names = Object.keys(metafile.outputs).map((path) => basename(path));
  return new Map(names.map((name) => [name.replace(/^.*\./, ''), name]));
}

function documentOf(assets: ReadonlyMap<string, string>): string {
  const address = (end: string) => {
    const name = assets.get(end);
    if (name === undefined) throw new Error(`the build made no .${end}`);
    return `/assets/${name}`;
  };
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="robots" content="noindex">
  <title>Identity Engine</title>
  <link rel="icon" type="image/svg+xml" href="${address('svg')}">
  <link rel="stylesheet" href="${address('css')}">
  <script type="module" src="${address('js')}"></script>
</head>
<body>
  <div id="root"></div>
  <noscript>The console needs JavaScript.</noscript>
</body>
</html>
`;
}
