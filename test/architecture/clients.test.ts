import { globSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { importsOf, sourceOf } from '#test/architecture/source-tree';

const files = globSync('clients/typescript/src/**/*.ts');
const client = suite('the TypeScript client');

client('has source files to check', () => {
  assert.ok(files.length > 20, `only ${files.length} files were found`);
});

/** Packages that a file may import, besides files of the client. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  'clients/typescript/src/file-spool.ts': /^node:/,
  'clients/typescript/src/adapters/ai-sdk.ts': /^ai$/,
  'clients/typescript/src/adapters/langchain.ts': /^langchain$/,
  'clients/typescript/src/adapters/openai-agents.ts': /^@openai\/agents$/,
};

client('imports only its own files, except in the file spool and the adapters', () => {
  for (const file of files) {
    for (const target of importsOf(file)) {
      if (PACKAGES[file]?.test(target)) continue;
      assert.match(target, /^\.\.?\/[\w/.-]+\.ts$/, `${file}: ${target}`);
      const path = new URL(target, `file:///${file}`).pathname;
      assert.match(path, /^\/clients\/typescript\/src\//, `${file}: ${target}`);
    }
  }
});

client('documents every export', () => {
  for (const file of files.filter((name) => !/\/(models|identity-engine)\.ts$/.test(name))) {
    const lines = sourceOf(file).split('\n');
    for (const [index, line] of lines.entries()) {
      if (!/^export (async )?(function|class|const|type|interface) /.test(line)) continue;
      assert.match(lines[index - 1] ?? '', /\*\/$/, `${file}:${index + 1} has no doc line`);
    }
  }
});

client('imports an adapter from no other file, so that frameworks are optional', () => {
  for (const file of files.filter((name) => !name.includes('/adapters/'))) {
    for (const target of importsOf(file)) assert.not.match(target, /\/adapters\//, file);
  }
});

client('has adapters of at most 150 lines', () => {
  const adapters = files.filter((name) => name.includes('/adapters/'));
  assert.ok(adapters.length > 3);
  for (const file of adapters) assert.ok(sourceOf(file).split('\n').length <= 151, file);
});

client('states the versions of frameworks that the adapters support and that tests prove', () => {
  const readme = sourceOf('clients/typescript/README.md');
  const cellsOf = (row: string): string[] => {
    const [, cells = ''] = new RegExp(`^\\| ${row} \\|(.*)\\|$`, 'm').exec(readme) ?? [];
    return cells.split('|').map((cell) => cell.trim());
  };
  const folder = 'clients/typescript';
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(sourceOf(`${folder}/package.json`));
  const names = ['ai', 'langchain', '@openai/agents'];
  assert.equal(Object.keys(peerDependencies).sort(), names.toSorted());
  for (const [index, name] of names.entries()) {
    const supported = cellsOf('Framework')[index] ?? '';
    assert.ok(supported.startsWith(`\`${name}\` ${peerDependencies[name]}`), supported);
    const installed = JSON.parse(sourceOf(`${folder}/node_modules/${name}/package.json`));
    assert.is(cellsOf('Proven version')[index], installed.version);
    assert.equal(peerDependenciesMeta[name], { optional: true });
  }
});

client.run();
