import { readFile } from 'node:fs/promises';

/** Clock ticks a second in /proc: USER_HZ, 100 on every Linux architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Fields of /proc/<pid>/stat after the closing parenthesis of the program's name. Source: proc(5). */
const UTIME = 11;
const STIME = 12;

/** CPU time that a process, all its threads together, has used so far, in µs; steps of 10 ms. */
export async function cpuMicros(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name may hold spaces and parentheses; the last parenthesis ends it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[UTIME]) + Number(fields[STIME]);
  return (ticks / TICKS_PER_SECOND) * 1e6;
}
