import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Start time of a process as an opaque text; undefined for an ended process or a zombie. The system
 * reuses process ids, so an id is valid only together with this text.
 */
export function birthOf(pid: number): string | undefined {
  return process.platform === 'linux' ? birthInProc(pid) : birthByPs(pid);
}

function birthInProc(pid: number): string | undefined {
  try {
    // The second field is the program's name in parentheses, which may contain spaces.
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
