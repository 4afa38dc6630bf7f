import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LineStream } from '#telemetry/logger';

/** A stream on a disk with `room` free bytes. */
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

// Report 23: a line that could not be written to a full disk ended the process.
lines('drops and counts lines while the disk is full, and continues when there is room', () => {
  const { disk, stream } = onDisk(0);
  stream.write('one\n');
  stream.write('two\nthree\n');
  assert.is(stream.lost, 3);
  assert.match(stream.lastError?.message ?? '', /no space/);
  disk.room = 100;
  stream.write('four\n');
  assert.equal([disk.text, stream.lost], ['four\n', 3]);
});

lines('does not lose the line after a truncated line', () => {
  const { disk, stream } = onDisk(2);
  stream.write('first\n');
  disk.room = 100;
  stream.write('second\n');
  stream.write('third\n');
  assert.equal([disk.text, stream.lost], ['fi\nsecond\nthird\n', 1]);
});

lines('waits a moment for a full pipe, but not for each line of an outage', () => {
  let attempts = 0;
  const stream = new LineStream(() => {
    attempts += 1;
    throw Object.assign(new Error('full'), { code: 'EAGAIN' });
  });
  stream.write('one\n');
  const ofFirst = attempts;
  for (let line = 0; line < 10; line += 1) stream.write('more\n');
  assert.ok(ofFirst > 1);
  assert.equal([attempts, stream.lost], [ofFirst + 10, 11]);
});

lines.run();
