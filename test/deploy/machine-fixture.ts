import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keptEnvironment } from '#test/support/kept-environment';

/** A machine on which only what a test puts there can be found: its own PATH, cache and Java home. */
export type Machine = Disposable & {
  readonly folder: string;
  /** Puts a program on `PATH` that runs this shell text. */
  place(program: string, script: string): string;
};

/** Pretends to be a bare machine until disposed. The environment is this process's own. */
export function bareMachine(): Machine {
  const environment = keptEnvironment();
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-machine-'));
  process.env['PATH'] = folder;
  process.env['XDG_CACHE_HOME'] = join(folder, 'cache');
  delete process.env['JAVA_HOME'];
  return {
    folder,
    place(program, script) {
      const file = join(folder, program);
      writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return file;
    },
    [Symbol.dispose]: () => {
      environment[Symbol.dispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
