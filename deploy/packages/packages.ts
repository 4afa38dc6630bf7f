import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix, resolve } from 'node:path';
import { outputOf } from '#deploy/local/processes/run-program';

/*
 * Packages of the client libraries for npm and PyPI. Each package is built in a temporary copy of
 * its folder, in which links are absolute, the address of the repository is set, and the change log
 * that all clients share is added.
 */

/** A package that a registry publishes. */
export type PackageName = 'typescript' | 'mcp' | 'python';

/** Options of a build. */
export type PackageOptions = {
  /** Address of the public repository, such as `https://github.com/owner/name`. */
  readonly repository: string;
  /** Folder for the artefacts. */
  readonly out: string;
};

/** Maximum time of one command, in milliseconds. */
const RUN_MS_MAX = 300_000;

/** Files and folders that no package needs. */
const LEFT_OUT =
  /(?:^|\/)(?:node_modules|dist|test|tests|\.venv|\.\w+_cache|__pycache__|reference)$/;

/** Builds a package. Returns the paths of its artefacts. */
export async function buildPackage(name: PackageName, options: PackageOptions): Promise<string[]> {
  const { repository } = options;
  if (!/^https:\/\/[\w.-]+(?:\/[\w.-]+)+$/.test(repository)) {
    throw new Error(`the repository must be an https address without an end slash: ${repository}`);
  }
  const out = resolve(options.out);
  mkdirSync(out, { recursive: true });
  const before = new Set(readdirSync(out));
  const stage = mkdtempSync(join(tmpdir(), `package-${name}-`));
  try {
    copyPackage(name, stage, repository);
    if (name === 'python') await buildPython(stage, out, repository);
    else await buildForNpm(name, stage, out, repository);
  } finally {
    rmSync(stage, { recursive: true });
  }
  return readdirSync(out)
    .filter((file) => !before.has(file))
    .map((file) => join(out, file));
}

function copyPackage(name: PackageName, stage: string, repository: string): void {
  const folder = `clients/${name}`;
  cpSync(folder, stage, { recursive: true, filter: (path) => !LEFT_OUT.test(path) });
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const place = { repository, ref: `v${version}` };
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  writeFileSync(join(stage, 'README.md'), withAbsoluteLinks(readme, { ...place, folder }));
  const changes = readFileSync('clients/CHANGELOG.md', 'utf8');
  const absolute = withAbsoluteLinks(changes, { ...place, folder: 'clients' });
  writeFileSync(join(stage, 'CHANGELOG.md'), absolute);
}

async function buildForNpm(
  name: PackageName,
  stage: string,
  out: string,
  repository: string,
): Promise<void> {
  const home = resolve(`clients/${name}`);
  await installTools(home);
  symlinkSync(join(home, 'node_modules'), join(stage, 'node_modules'));
  const path = join(stage, 'package.json');
  const own = JSON.parse(readFileSync(path, 'utf8'));
  // In the repository, the MCP server uses the source of the client. Its lockfile therefore does
  // not depend on the development tools of the client.
  if (name === 'mcp') own.dependencies['identity-engine'] = `^${own.version}`;
  const facts = {
    ...own,
    homepage: `${repository}#readme`,
    repository: { type: 'git', url: `git+${repository}.git`, directory: `clients/${name}` },
    bugs: `${repository}/issues`,
  };
  writeFileSync(path, `${JSON.stringify(facts, undefined, 2)}\n`);
  await run('npm', ['run', '--silent', 'build'], stage);
  await run('npm', ['pack', '--silent', '--pack-destination', out], stage);
}

async function buildPython(stage: string, out: string, repository: string): Promise<void> {
  await run('python3', ['clients/python/tools/environment.py'], '.');
  const path = join(stage, 'pyproject.toml');
  const urls = [
    '[project.urls]',
    `Repository = "${repository}"`,
    `Issues = "${repository}/issues"`,
  ];
  writeFileSync(path, `${readFileSync(path, 'utf8')}\n${urls.join('\n')}\n`);
  const python = resolve('clients/python/.venv/bin/python');
  await run(python, ['-m', 'build', '--no-isolation', '--outdir', out], stage);
}

/** Installs the locked packages of a folder with a `package.json`, if missing or old. */
export async function installTools(folder: string): Promise<void> {
  const installed = join(folder, 'node_modules/.package-lock.json');
  const lockedMs = statSync(join(folder, 'package-lock.json')).mtimeMs;
  if (existsSync(installed) && statSync(installed).mtimeMs >= lockedMs) return;
  await run('npm', ['ci', '--silent', '--no-audit', '--no-fund'], folder);
}

async function run(program: string, args: readonly string[], folder: string): Promise<void> {
  await outputOf({ program, args, folder, msMax: RUN_MS_MAX });
}

/** Place of a package in a public repository. */
type Place = {
  /** Address of the repository, such as `https://github.com/owner/name`. */
  readonly repository: string;
  /** Tag or branch. */
  readonly ref: string;
  /** Folder of the document in this repository, such as `clients/python`. */
  readonly folder: string;
};

/** Matches the target of a Markdown link or picture that is relative to the document. */
const RELATIVE = /(!?)(\[[^\]]*\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)/g;

/**
 * Makes the links of a Markdown document absolute, because a registry shows the document without
 * its repository. Pictures get the address of the file itself. Throws for a link to a missing file.
 */
function withAbsoluteLinks(text: string, { repository, ref, folder }: Place): string {
  return text.replace(RELATIVE, (_, picture, label, target, fragment = '') => {
    const path = posix.join(folder, target);
    if (!existsSync(path)) throw new Error(`${folder}: the link ${target} has no file`);
    const view = picture === '!' ? 'raw' : 'blob';
    return `${picture}${label}${repository}/${view}/${ref}/${path}${fragment})`;
  });
}
