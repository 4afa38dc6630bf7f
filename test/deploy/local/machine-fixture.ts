import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keptEnvironment } from '#test/support/kept-environment';

/** A simulated machine. Only programs that a test adds are on its PATH, and its cache is empty. */
export type Machine = Disposable & {
  readonly folder: string;
  /** Adds a program to `PATH` that runs this shell script; returns its path. */
  place(program: string, script: string): string;
};

/**
 * Simulates a machine without programs: changes PATH, JAVA_HOME and the cache folder in the
 * environment of this process until disposed. This file is separate, so that
 * missing-servers.test.ts has only tests.
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
