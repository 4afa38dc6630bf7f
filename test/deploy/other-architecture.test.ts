import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OWN_ARCHITECTURE } from '#deploy/image/oci-archive';
import { makeRootFileSystem } from '#deploy/image/root-file-system';
import { programPath } from '#deploy/local/install/program-path';
import { runImage, whyNoOtherRoot } from '#test/deploy/image-run';

/*
 * Starts the image of the architecture that this machine does not have, under emulation.
 */

const OTHER = OWN_ARCHITECTURE === 'amd64' ? 'arm64' : 'amd64';
const EMULATOR = OTHER === 'arm64' ? 'qemu-aarch64-static' : 'qemu-x86_64-static';

const emulator = programPath(EMULATOR);
const lack = emulator === undefined ? 'apt-get install qemu-user-static' : whyNoOtherRoot();
if (lack !== undefined) {
  if (process.env['CI'] === 'true') throw new Error(`no emulation: ${lack}`);
  console.log(`skipped because there is no emulation: ${lack}`);
}

const image = suite(`the image for ${OTHER}`);
const test = lack === undefined ? image : image.skip;

// Catches a library of the wrong architecture, or a library that the image lacks.
test('answers calls under emulation', async () => {
  const root = mkdtempSync(join(tmpdir(), 'identity-engine-other-'));
  process.once('exit', () => rmSync(root, { recursive: true, force: true }));
  const start = await makeRootFileSystem(root, OTHER);
  copyFileSync(emulator ?? '', join(root, 'emulator'));
  const emulated = ['/emulator', '/usr/local/bin/node', 'services/main.ts'];
  const variables = {
    SERVICE_LOCAL_ACCOUNT: 'true',
    SERVICE_HOST: '127.0.0.1',
    SERVICE_PORT: '0',
    SERVICE_METRICS_PORT: '0',
    SERVICE_ADMIN_PORT: '0',
    SERVICE_CONSOLE_PORT: '0',
  };
  const service = runImage(root, start, ['standalone'], variables, emulated);
  await service.says(/Ctrl-C/);
  const api = /API +(\S+)/.exec(service.output())?.[1];
  const authorization = `Bearer ${/svc_sk_\w+/.exec(service.output())?.[0]}`;
  const made = await fetch(`${api}/instances`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: '{"name":"Ada"}',
  });
  assert.is(made.status, 201, service.output());
  service.child.kill('SIGTERM');
  assert.is(await service.ended, 0, service.output());
});

image.run();
