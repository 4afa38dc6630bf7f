import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { processFolder, STOP_ORDER } from '#deploy/local/cluster-plan';
import { runningServer, stopRecordedServer } from '#deploy/local/servers/server-record';

/** Stops the processes that run without a supervisor, callers first. Returns the process names. */
export async function endLeftovers(folder: string): Promise<string[]> {
  const parent = join(folder, 'processes');
  const names = existsSync(parent) ? readdirSync(parent) : [];
  const running = names.filter((name) => runningServer(processFolder(folder, name)) !== undefined);
  for (const kind of STOP_ORDER) {
    const group = running.filter((name) => name.replace(/\d+$/, '') === kind);
    await Promise.all(group.map((name) => stopRecordedServer(processFolder(folder, name))));
  }
  return running;
}
