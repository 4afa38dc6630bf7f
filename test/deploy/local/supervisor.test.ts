import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { supervisorFolder } from '#deploy/local/cluster-record';
import { birthOf } from '#deploy/local/processes/process-birth';
import type { SupervisorMessage } from '#deploy/local/processes/supervisor';
import { recordServer } from '#deploy/local/servers/server-record';

const SUPERVISOR = fileURLToPath(import.meta.resolve('#deploy/local/processes/supervisor'));

const full = suite('a supervisor whose log folder is full');

// Report 23: the supervisor ended by its log line, and nothing showed why the cluster did not start.
full("reports lost lines and its error on its parent's terminal", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-supervisor-'));
  const log = openSync('/dev/full', 'a');
  try {
    // Another supervisor holds the folder, so that the new supervisor fails immediately.
    const own = supervisorFolder(folder);
    mkdirSync(own, { recursive: true });
    const { pid } = process;
    const record = { name: 'supervisor', pid, birth: birthOf(pid) ?? '' };
    await recordServer(own, { ...record, startedAt: '', address: '', logFile: '' });
    const child = spawn(process.execPath, [SUPERVISOR, JSON.stringify({ folder })], {
      stdio: ['ignore', log, log, 'ipc'],
    });
    const messages: SupervisorMessage[] = [];
    child.on('message', (message: SupervisorMessage) => messages.push(message));
    const [code] = await once(child, 'close');
    assert.is(code, 1);
    assert.is(messages.length, 2, JSON.stringify(messages));
    const [line, failed] = messages;
    assert.match(line?.kind === 'line' ? line.line : '', /lines are lost: ENOSPC/);
    assert.match(failed?.kind === 'failed' ? failed.reason : '', /already runs in .*, as process/);
  } finally {
    closeSync(log);
    rmSync(folder, { recursive: true });
  }
});

full.run();
