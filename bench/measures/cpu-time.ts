import { readdir, readFile } from 'node:fs/promises';

/** A process to measure, with its name in the report. */
export type Measured = { readonly name: string; readonly pid: number };

/** Clock ticks per second in /proc: USER_HZ, 100 on every Linux architecture that Node supports. */
const TICKS_PER_SECOND = 100;

/** Indexes of the fields that follow the program's name in /proc/<pid>/stat. Source: proc(5). */
const PARENT = 1;
const UTIME = 11;
const STIME = 12;
/** CPU time of ended children, after the parent's wait call. */
const CUTIME = 13;
const CSTIME = 14;

/**
 * CPU time used so far by a process and its direct children, in µs, in steps of 10 ms. Includes all
 * threads and ended children. Follows parent ids, because each process of a PostgreSQL server has
 * its own process group.
 */
export async function cpuMicros(pid: number): Promise<number> {
  const own = await statOf(pid);
  if (own === undefined) throw new Error(`process ${pid} has ended`);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(pids.map((name) => statOf(Number(name))));
  const family = all.filter((fields) => fields?.[PARENT] === pid);
  const ticks = [own, ...family].reduce((sum, fields) => sum + ticksOf(fields ?? []), 0);
  return (ticks / TICKS_PER_SECOND) * 1e6;
}

/** CPU time of a process's threads so far, in µs, by thread name without the pool number. */
export async function threadMicros(pid: number): Promise<Map<string, number>> {
  const micros = new Map<string, number>();
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const folder = `${pid}/task/${thread}`;
    const fields = await statOf(folder);
    const name = await readFile(`/proc/${folder}/comm`, 'utf8').catch(() => '');
    const kind = name.trim().replace(/[-#: ]*\d+$/, '');
    const ticks = (fields?.[UTIME] ?? 0) + (fields?.[STIME] ?? 0);
    micros.set(kind, (micros.get(kind) ?? 0) + (ticks / TICKS_PER_SECOND) * 1e6);
  }
  return micros;
}

function ticksOf(fields: readonly number[]): number {
  return [UTIME, STIME, CUTIME, CSTIME].reduce((sum, field) => sum + (fields[field] ?? 0), 0);
}

/** Fields after the program name; undefined if the process has ended. */
async function statOf(pid: number | string): Promise<number[] | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The program name may contain spaces and parentheses; the last parenthesis ends the name.
  return text
    ?.slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
}
