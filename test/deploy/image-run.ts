import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Start } from '#deploy/image/containerfile';

/** Maximum run time of a process from the image, in ms. */
const RUN_MS_MAX = 60_000;

/** A process that sees only the image's root file system. */
export type ImageRun = {
  readonly child: ChildProcess;
  /** Output of stdout and stderr. */
  readonly output: () => string;
  readonly ended: Promise<number | string>;
  /** Resolves when the output matches `pattern`; rejects if the process ends first. */
  readonly says: (pattern: RegExp) => Promise<void>;
};

/** Reason why this machine cannot run a process with another root; undefined if possible. */
export function whyNoOtherRoot(): string | undefined {
  try {
    execFileSync('unshare', [...unshared({ user: '1000:1000' }), 'true'], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return (error as Error).message.trim().split('\n').at(-1) ?? 'unshare failed';
  }
}

/** Starts `program` (default: the image's entry point) like a container. */
export function runImage(
  root: string,
  { folder, user, variables, entrypoint }: Start,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
  program = entrypoint,
): ImageRun {
  const place = [`--root=${root}`, `--wd=${folder}`];
  const command = [...unshared({ user }), ...place, ...program, ...args];
  const env = { ...variables, ...more };
  const child = spawn('/usr/bin/unshare', command, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => texts.push(chunk.toString()));
  }
  const cut = () => void child.kill('SIGKILL');
  const timer = setTimeout(cut, RUN_MS_MAX);
  process.once('exit', cut);
  const ended = once(child, 'close').then(([code, signal]) => {
    clearTimeout(timer);
    process.off('exit', cut);
    return code ?? signal;
  });
  const output = () => texts.join('');
  return {
    child,
    output,
    ended,
    async says(pattern) {
      const over = ended.then(() => 'over' as const);
      while (!pattern.test(output())) {
        const more = [once(child.stdout, 'data'), once(child.stderr, 'data')];
        const next = await Promise.race([...more, over]);
        if (next === 'over' && !pattern.test(output())) {
          throw new Error(`the process ended without output ${pattern}: ${output()}`);
        }
      }
    },
  };
}

/**
 * Arguments with which unshare runs a process as the image's user. Only root may use any user id;
 * other users map their own id to the image's user.
 */
function unshared({ user }: { readonly user: string }): readonly string[] {
  const [uid, gid] = user.split(':');
  if (process.getuid?.() === 0) return [`--setuid=${uid}`, `--setgid=${gid}`];
  return ['--user', `--map-user=${uid}`, `--map-group=${gid}`];
}
