import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

/**
 * Operating systems of developers, with the words that stand for each system in package names. The
 * lockfile must have the binaries for every pair of system and processor.
 */
const SYSTEMS = { linux: ['linux'], darwin: ['darwin', 'macos'], win32: ['win32', 'win'] };

/** Processors of developers, with the words that stand for each processor in package names. */
const PROCESSORS = { x64: ['x64'], arm64: ['arm64', 'aarch64'] };

type Locked = {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Readonly<Record<string, Locked>>;
};

/** Lockfile entry that the package at `path` resolves for `name`. */
function entryOf(name: string, path: string): Locked | undefined {
  const above = path.slice(0, Math.max(0, path.lastIndexOf('node_modules/') - 1));
  const here = packages[path === '' ? `node_modules/${name}` : `${path}/node_modules/${name}`];
  return here ?? (path === '' ? undefined : entryOf(name, above));
}

/** Whether a package name contains one of these words for a platform. */
function names(name: string, words: readonly string[]): boolean {
  return name.split(/[/_-]/).some((part) => words.includes(part));
}

/** All optional dependencies, with the package that depends on them. */
const asked = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
  Object.keys(optionalDependencies).map((name) => ({ name, path })),
);

/** Packages with a binary package per platform. */
const choosers = [...new Set(asked.map(({ path }) => path))].filter((path) => {
  const isBinary = ({ name }: { name: string }) => entryOf(name, path)?.os !== undefined;
  return asked.filter(({ path: other }) => other === path).filter(isBinary).length > 1;
});

for (const [os, systemWords] of Object.entries(SYSTEMS)) {
  for (const [cpu, processorWords] of Object.entries(PROCESSORS)) {
    const lockfile = suite(`package-lock.json on ${os} and ${cpu}`);

    lockfile('has an entry for every binary of this platform', () => {
      const missing = asked.filter(({ name, path }) => {
        const isMeant = names(name, systemWords) && names(name, processorWords);
        return isMeant && entryOf(name, path) === undefined;
      });
      assert.equal(missing, []);
    });

    lockfile('has a suitable binary for every package with binaries', () => {
      const without = choosers.filter(
        (path) =>
          !asked.some(({ name, path: other }) => {
            const entry = other === path ? entryOf(name, path) : undefined;
            return entry?.os?.includes(os) && entry.cpu?.includes(cpu);
          }),
      );
      assert.ok(choosers.length >= 6, `only ${choosers} have binaries`);
      assert.equal(without, []);
    });

    lockfile.run();
  }
}

const everywhere = suite('package-lock.json');

for (const folder of ['.', 'clients/mcp', 'clients/typescript']) {
  everywhere(`in ${folder} has a checksum for every package, and no registry address`, () => {
    const { packages: locked } = JSON.parse(readFileSync(`${folder}/package-lock.json`, 'utf8'));
    for (const [path, { integrity, resolved }] of Object.entries<Locked>(locked)) {
      if (path === '') continue;
      assert.match(integrity ?? '', /^sha512-/, path);
      assert.is(resolved, undefined, path);
    }
    assert.match(readFileSync(`${folder}/.npmrc`, 'utf8'), /^ignore-scripts=true$/m);
  });
}

everywhere('is installed unchanged, without install scripts', () => {
  assert.match(readFileSync('.npmrc', 'utf8'), /^ignore-scripts=true$/m);
  assert.match(readFileSync('Makefile', 'utf8'), /^\t@npm ci /m);
  assert.not.match(readFileSync('Makefile', 'utf8'), /npm (install|i) /);
  const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  assert.is(allowScripts, undefined);
});

everywhere.run();
