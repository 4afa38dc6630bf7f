import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keptEnvironment } from '#test/support/kept-environment';

/** A simulated machine with its own PATH and cache, and only the test's programs. */
export type Machine = Disposable & {
  readonly folder: string;
  /** Adds a program to `PATH` that runs this shell script; returns its path. */
  place(program: string, script: string): string;
};

/**
 * Simulates a machine without programs until disposed, by changes of this process's environment.
 * Separate, so that missing-servers.test.ts has only tests.
 */
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
