import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When the process with this id began, as an opaque text; undefined when there is none, or only what
 * its parent has not yet collected. Process ids are used again, so no id is trusted without this.
 */
export function birthOf(pid: number): string | undefined {
  return process.platform === 'linux' ? birthInProc(pid) : birthByPs(pid);
}

function birthInProc(pid: number): string | undefined {
  try {
    // The second field is the program's name in brackets and may hold spaces; the rest does not.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state] = fields;
    return state === 'Z' || state === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function birthByPs(pid: number): string | undefined {
  const { status, stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', `${pid}`], {
    encoding: 'utf8',
  });
  const [, state, started] = /^(\S+)\s+(.+)$/.exec(stdout.trim()) ?? [];
  return status === 0 && !state?.startsWith('Z') ? started : undefined;
}
