import { globSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { birthOf } from '#deploy/local/processes/process-birth';
import type { Print } from '#deploy/local/progress';
import { claimFolder, endProcess, runningServer } from '#deploy/local/servers/server-record';
import { endContainers } from '#test/pods/containers';
import { closeNetwork, PLACES } from '#test/pods/network';

/*
 * What a run changes on this machine: one folder, processes, mounts, control groups and a network.
 * All have fixed names, so that a run also removes what a killed run has left. Settings of the
 * kernel that a kubelet changes, such as `vm.overcommit_memory`, stay changed.
 */

/** Folder of all files. Short, because the paths of sockets are limited. */
const FOLDER = '/tmp/identity-engine-pods';

/** Folder of the files of a node, the control plane, or another part of a run. */
export function partFolder(name: string): string {
  return join(FOLDER, name);
}

/**
 * Makes this process the only one that runs pods on this machine, and removes what an earlier run
 * has left. Disposal and SIGINT or SIGTERM remove everything. Throws if another process runs pods.
 */
export async function claimMachine(print: Print): Promise<AsyncDisposable> {
  mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
  // Another user could plant files that root then writes or runs.
  if (lstatSync(FOLDER).uid !== process.getuid?.()) {
    throw new Error(`${FOLDER} belongs to another user: remove the folder`);
  }
  const { pid } = process;
  const birth = birthOf(pid) ?? '';
  const startedAt = new Date().toISOString();
  const record = { name: 'pods', pid, birth, startedAt, address: '', logFile: '' };
  if (!(await claimFolder(FOLDER, record))) {
    throw new Error(`process ${runningServer(FOLDER)?.pid} already runs pods on this machine`);
  }
  await cleanMachine();
  let removal: Promise<void> | undefined;
  const remove = () => {
    removal ??= cleanMachine().then(() => rmSync(FOLDER, { recursive: true, force: true }));
    return removal;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      print('removing nodes and pods');
      const end = () => process.exit(130);
      remove().then(end, (error: Error) => {
        print(`something is left, which the next run removes: ${error.message}`);
        end();
      });
    });
  }
  return { [Symbol.asyncDispose]: remove };
}

/** Ends all processes of this or an earlier run, and removes containers, network and files. */
async function cleanMachine(): Promise<void> {
  const servers = globSync(`${FOLDER}/*/*/server.json`)
    .map((file) => runningServer(dirname(file)))
    .filter((record) => record !== undefined);
  await Promise.all(servers.map((record) => endProcess(record, 0)));
  const ends = PLACES.map(({ name }) => endContainers(name, partFolder(name)));
  // An error of one node must not stop the clean-up of the others.
  await Promise.allSettled(ends);
  await closeNetwork();
  const parts = readdirSync(FOLDER, { withFileTypes: true }).filter((part) => part.isDirectory());
  for (const { name } of parts) rmSync(partFolder(name), { recursive: true, force: true });
  await Promise.all(ends);
}
