import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runProgram } from '#deploy/local/processes/run-program';

/*
 * Control groups, processes and mounts of the containers of a node. A killed containerd leaves all
 * of them behind.
 */

/** Hierarchies of version 1 of control groups; a machine with version 2 has only this folder. */
const CGROUPS = '/sys/fs/cgroup';

const UMOUNT_MS_MAX = 20_000;

/** Interval between checks whether killed processes have ended, in ms. */
const POLL_EVERY_MS = 50;

/** Maximum time until killed processes have ended, in ms. */
const END_MS_MAX = 30_000;

/** Control group below which the kubelet of a node places its pods. */
export function groupOf(node: string): string {
  return `identity-engine-pods-${node}`;
}

/** Creates the control group of a node. */
export function makeControlGroup(node: string): void {
  for (const root of hierarchies()) {
    const folder = join(root, groupOf(node));
    mkdirSync(folder, { recursive: true });
    // A new cpuset of version 1 is empty, and accepts no process.
    for (const file of ['cpuset.cpus', 'cpuset.mems'].filter(() => root.endsWith('/cpuset'))) {
      writeFileSync(join(folder, file), readFileSync(join(root, file)));
    }
  }
}

/**
 * Kills all containers of a node. Removes its control groups, mounts and files. Throws if a process
 * does not end. containerd and kubelet of the node must have ended.
 */
export async function endContainers(node: string, folder: string): Promise<void> {
  await endProcesses(node, folder);
  for (const path of mountsBelow(folder)) {
    await runProgram({ program: 'umount', args: ['-l', path], msMax: UMOUNT_MS_MAX });
  }
  for (const root of hierarchies()) {
    // The deepest group first: a group with groups inside cannot be removed.
    const pattern = `${join(root, groupOf(node))}/**/`;
    for (const group of globSync(pattern).toSorted((a, b) => b.length - a.length)) {
      // runc may remove the group of an ended container at the same time.
      if (existsSync(group)) rmdirSync(group);
    }
  }
  rmSync(folder, { recursive: true, force: true });
}

async function endProcesses(node: string, folder: string): Promise<void> {
  const pids = () => [
    ...new Set([
      ...hierarchies().flatMap((root) => pidsBelow(join(root, groupOf(node)))),
      ...shimsOf(folder),
    ]),
  ];
  const endMs = performance.now() + END_MS_MAX;
  for (let left = pids(); left.length > 0; left = pids()) {
    if (performance.now() > endMs) throw new Error(`processes do not end: ${left.join(' ')}`);
    for (const pid of left) endProcess(pid);
    await sleep(POLL_EVERY_MS);
  }
}

function hierarchies(): string[] {
  if (!existsSync(join(CGROUPS, 'memory'))) return [CGROUPS];
  return readdirSync(CGROUPS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(CGROUPS, name));
}

/** Processes in a control group and in all groups below. */
function pidsBelow(group: string): number[] {
  return globSync(`${group}/**/cgroup.procs`).flatMap((file) => {
    try {
      return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
    } catch {
      // runc has removed the group.
      return [];
    }
  });
}

/** Processes of containerd that hold containers (shims) of the node with this folder. */
function shimsOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isShim(name, folder))
    .map(Number);
}

function isShim(pid: string, folder: string): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return command.includes('containerd-shim') && command.includes(join(folder, 'cd.sock'));
  } catch {
    // The process has ended.
    return false;
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended.
  }
}

/** Mount points below a folder, the deepest first. */
function mountsBelow(folder: string): string[] {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`))
    .toSorted((a, b) => b.length - a.length);
}
