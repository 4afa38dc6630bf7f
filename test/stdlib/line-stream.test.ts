import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LineStream } from '#telemetry/logger';

/** A stream whose disk takes `room` bytes more. */
function onDisk(room: number) {
  const disk = { room, text: '' };
  const stream = new LineStream((bytes) => {
    if (disk.room === 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    const taken = Buffer.from(bytes).subarray(0, disk.room);
    disk.room -= taken.length;
    disk.text += taken.toString();
    return taken.length;
  });
  return { disk, stream };
}

const lines = suite('a stream of lines');

// Report 23: a line that a full disk did not take ended the process.
lines('drops and counts lines while the disk is full, and goes on when there is room', () => {
  const { disk, stream } = onDisk(0);
  stream.write('one\n');
  stream.write('two\nthree\n');
  assert.is(stream.lost, 3);
  assert.match(stream.lastError?.message ?? '', /no space/);
  disk.room = 100;
  stream.write('four\n');
  assert.equal([disk.text, stream.lost], ['four\n', 3]);
});

lines('a line that was cut off does not swallow the next one', () => {
  const { disk, stream } = onDisk(2);
  stream.write('first\n');
  disk.room = 100;
  stream.write('second\n');
  stream.write('third\n');
  assert.equal([disk.text, stream.lost], ['fi\nsecond\nthird\n', 1]);
});

lines('a full pipe is waited for a moment, and not for each line of an outage', () => {
  let tries = 0;
  const stream = new LineStream(() => {
    tries += 1;
    throw Object.assign(new Error('full'), { code: 'EAGAIN' });
  });
  stream.write('one\n');
  const ofFirst = tries;
  for (let line = 0; line < 10; line += 1) stream.write('more\n');
  assert.ok(ofFirst > 1);
  assert.equal([tries, stream.lost], [ofFirst + 10, 11]);
});

lines.run();
