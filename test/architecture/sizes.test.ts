import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ALL, importGraph, SERVICES, sourceOf } from '#test/architecture/source-tree';

/** Maximum lines per file, because longer files usually contain a second concept. */
const FILE_LINES_MAX = 500;
/** Maximum lines of a file that only translates field by field. */
const TABLE_LINES_MAX = 600;
const TABLES = ['services/infrastructure/grpc/engine-codec.ts'];
const FUNCTION_LINES_MAX = 60;
/** Minimum lines of a file with a single importer. A shorter file needs a reason. */
const SINGLE_IMPORTER_LINES_MIN = 40;
/** Reason why a file is not part of its importer: `separate`, then `because` or `so that`. */
const REASON = /\b[Ss]eparate\b.*\b(because|so that)\b/;
const FIRST_COMMENT = /^ *(\/\*[\s\S]*?\*\/|\/\/.*(\n *\/\/.*)*)/m;
const BANNED_NAMES = /^(utils?|helpers?|common|shared|misc|types|index)\b/;

const sizes = suite('every file');

sizes('is in the lists of this check, which have more than 900 files', () => {
  assert.ok(SERVICES.length > 100, `only ${SERVICES.length} service files were found`);
  assert.ok(ALL.length > 900, `only ${ALL.length} files were found`);
});

sizes('is short and named after a concept', () => {
  for (const file of ALL) {
    const lineCount = sourceOf(file).split('\n').length - 1;
    const max = TABLES.includes(file) ? TABLE_LINES_MAX : FILE_LINES_MAX;
    assert.ok(lineCount <= max, `${file} has ${lineCount} lines; the maximum is ${max}`);
    assert.not.match(basename(file), BANNED_NAMES, `${file}: name the file after its concept`);
  }
});

sizes(
  'under 40 lines with a single importer explains in its first comment why it is separate',
  () => {
    const importers = new Map<string, Set<string>>();
    for (const [importer, targets] of importGraph()) {
      for (const file of targets) {
        importers.set(file, (importers.get(file) ?? new Set()).add(importer));
      }
    }
    // Programs and tests have no importer, so the check skips them.
    const short = ALL.filter((file) => {
      const isShort = sourceOf(file).split('\n').length - 1 < SINGLE_IMPORTER_LINES_MIN;
      return isShort && importers.get(file)?.size === 1;
    });
    assert.ok(short.length > 0, 'the check found no short file');
    const unexplained = short.filter((file) => {
      const [comment = ''] = FIRST_COMMENT.exec(sourceOf(file)) ?? [];
      return !REASON.test(comment.replaceAll(/\s*\n[\s*/]*/g, ' '));
    });
    assert.equal(unexplained, [], 'merge each file, or write "Separate from …, because …"');
  },
);

sizes('has only short functions, because biome.json enforces it', () => {
  const { linter, overrides = [], files } = JSON.parse(sourceOf('biome.json'));
  const rule = linter.rules.complexity.noExcessiveLinesPerFunction;
  assert.equal(rule, { level: 'error', options: { maxLines: FUNCTION_LINES_MAX } });
  for (const folder of ['services', 'test', 'bench', 'deploy', 'loadtest', 'clients']) {
    assert.ok(files.includes.includes(`${folder}/**`), folder);
  }
  assert.equal(overrides, [], 'an override in biome.json exempts files');
});

sizes('of the services documents every export', () => {
  for (const file of SERVICES) {
    const lines = sourceOf(file).split('\n');
    for (const [index, line] of lines.entries()) {
      const isExport = /^export (async )?(function|class|const|type|interface) /.test(line);
      if (!isExport) continue;
      assert.match(lines[index - 1] ?? '', /\*\/$/, `${file}:${index + 1} has no doc line`);
    }
  }
});

sizes('that declares a test suite runs the suite', () => {
  for (const file of globSync(['test/**/*.test.ts', 'clients/{mcp,typescript}/test/*.test.ts'])) {
    const source = sourceOf(file);
    for (const [, name] of source.matchAll(/const (\w+) = suite\b/g)) {
      assert.ok(
        source.includes(`${name}.run()`) ||
          new RegExp(
            `for \\(const \\w+ of \\[[^\\]]*\\b${name}\\b[^\\]]*\\]\\) \\w+\\.run\\(\\)`,
          ).test(source),
        `${file}: call ${name}.run()`,
      );
    }
  }
});

sizes.run();
