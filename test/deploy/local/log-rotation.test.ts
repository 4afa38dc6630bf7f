import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdtempDisposableSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { rotateLogs } from '#deploy/local/processes/log-rotation';

const rotation = suite('the logs of a local cluster');

// Report 34: in an outage the logs of a local cluster grew until the disk was full.
rotation('are rotated while processes write, with one older copy', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'identity-engine-logs-'));
  const [long, short] = ['edge.log', 'nats.log'].map((name) => join(folder.path, name));
  const log = openSync(long ?? '', 'a');
  appendFileSync(short ?? '', 'few\n');
  for (const round of ['first', 'second']) {
    writeSync(log, `${round} ${'x'.repeat(100)}\n`);
    rotateLogs(folder.path, 100);
    writeSync(log, `after the ${round}\n`);
    assert.is(readFileSync(long ?? '', 'utf8'), `after the ${round}\n`);
    assert.match(readFileSync(`${long}.old`, 'utf8'), `${round} xxx`);
  }
  closeSync(log);
  assert.is(readFileSync(short ?? '', 'utf8'), 'few\n');
  assert.not(existsSync(`${short}.old`));
});

rotation.run();
