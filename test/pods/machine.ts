import { globSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { birthOf } from '#deploy/local/processes/process-birth';
import { claimFolder, endProcess, runningServer } from '#deploy/local/servers/server-record';
import { endContainers } from '#test/pods/containers';
import { closeNetwork, PLACES } from '#test/pods/network';

/*
 * What a run changes on this machine: one folder, processes, mounts, control groups and a network.
 * All have fixed names, so that a run also removes what a killed run has left.
 */

/** Folder of all files. Short, because the paths of sockets are limited. */
const FOLDER = '/tmp/identity-engine-pods';

/** Folder of the files of a node, the control plane, or another part of a run. */
export function partFolder(name: string): string {
  return join(FOLDER, name);
}

/**
 * Makes this process the only one that runs pods on this machine, and removes what an earlier run
 * has left. Disposal removes everything. Throws if another process runs pods.
 */
export async function claimMachine(): Promise<AsyncDisposable> {
  mkdirSync(FOLDER, { recursive: true });
  const { pid } = process;
  const birth = birthOf(pid) ?? '';
  const startedAt = new Date().toISOString();
  const record = { name: 'pods', pid, birth, startedAt, address: '', logFile: '' };
  if (!(await claimFolder(FOLDER, record))) {
    throw new Error(`process ${runningServer(FOLDER)?.pid} already runs pods on this machine`);
  }
  await cleanMachine();
  return {
    async [Symbol.asyncDispose]() {
      await cleanMachine();
      rmSync(FOLDER, { recursive: true, force: true });
    },
  };
}

/** Ends all processes of this or an earlier run, and removes containers, network and files. */
export async function cleanMachine(): Promise<void> {
  const servers = globSync(`${FOLDER}/*/*/server.json`)
    .map((file) => runningServer(dirname(file)))
    .filter((record) => record !== undefined);
  await Promise.all(servers.map((record) => endProcess(record, 0)));
  for (const { name } of PLACES) await endContainers(name, partFolder(name));
  await closeNetwork();
  const parts = readdirSync(FOLDER, { withFileTypes: true }).filter((part) => part.isDirectory());
  for (const { name } of parts) rmSync(partFolder(name), { recursive: true, force: true });
}
