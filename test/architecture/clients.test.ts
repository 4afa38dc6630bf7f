import { globSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { importsOf, sourceOf } from '#test/architecture/source-tree';

const files = globSync('clients/typescript/src/**/*.ts');
const client = suite('the TypeScript client');

client('has source files to check', () => {
  assert.ok(files.length > 20, `only ${files.length} files were found`);
});

client('imports only its own files, except that the file spool imports Node.js', () => {
  for (const file of files) {
    for (const target of importsOf(file)) {
      if (file.endsWith('/file-spool.ts') && target.startsWith('node:')) continue;
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

client.run();
