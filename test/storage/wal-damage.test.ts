import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isWalDamaged } from '#storage/sqlite/wal';
import { Chance } from '#test/chaos/chance';

const PAGE_BYTES = 4_096;
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + PAGE_BYTES;

/** A WAL of 40 commits over the rest of an earlier one, as the process that is killed leaves it. */
function leftWal(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'wal-damage-'));
  const file = join(folder, 'a.db');
  const database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
  const insert = database.prepare('INSERT INTO rows (text) VALUES (?)');
  for (let left = 60; left > 0; left -= 1) insert.run('first'.repeat(300));
  // The next commit begins at the start of the file again.
  database.exec('PRAGMA wal_checkpoint(RESTART)');
  for (let left = 40; left > 0; left -= 1) insert.run('second'.repeat(300));
  const wal = readFileSync(`${file}-wal`);
  database.close();
  rmSync(folder, { recursive: true });
  return wal;
}

const wal = leftWal();
const salts = wal.subarray(16, 24);
const frames = Math.floor((wal.length - HEADER_BYTES) / FRAME_BYTES);
const at = (frame: number) => HEADER_BYTES + frame * FRAME_BYTES;
const isOfThisWal = (frame: number) => wal.subarray(at(frame) + 8, at(frame) + 16).equals(salts);
const own = Array.from({ length: frames }, (_, frame) => frame).filter(isOfThisWal).length;
const isCommit = (frame: number) => wal.readUInt32BE(at(frame) + 4) !== 0;
const commits = Array.from({ length: own }, (_, frame) => frame).filter(isCommit);

function flipped(place: number, bit: number): Buffer {
  const changed = Buffer.from(wal);
  changed.writeUInt8(changed.readUInt8(place) ^ (1 << bit), place);
  return changed;
}

const whole = suite('a WAL that a crash has left');

whole('is not damaged, with what an earlier one has left behind it', () => {
  assert.ok(own < frames, 'nothing of the earlier one is left');
  assert.is(isWalDamaged(wal), false);
});

whole('is not damaged when it was cut off anywhere', () => {
  const chance = new Chance(1);
  for (let left = 200; left > 0; left -= 1) {
    const length = chance.below(wal.length);
    assert.is(isWalDamaged(wal.subarray(0, length)), false, `${length}`);
  }
});

whole('is not damaged when frames of its last commit are not on the disk', () => {
  const lastButOne = commits.at(-2) ?? 0;
  for (let frame = lastButOne + 1; frame < own; frame += 1) {
    const torn = Buffer.from(wal);
    torn.fill(0, at(frame), at(frame) + 512);
    assert.is(isWalDamaged(torn), false, `${frame}`);
  }
});

const damaged = suite('a WAL of which the disk has changed a bit');

damaged('is known by it wherever a commit follows, and otherwise looks as after a crash', () => {
  const chance = new Chance(2);
  const lastButOne = commits.at(-2) ?? 0;
  for (let left = 600; left > 0; left -= 1) {
    const frame = chance.below(own);
    // Whether the last commit but one is seen depends on the byte.
    if (frame === lastButOne) continue;
    const place = at(frame) + chance.below(left % 2 === 0 ? 24 : FRAME_BYTES);
    const isFound = isWalDamaged(flipped(place, chance.below(8)));
    assert.is(isFound, frame < lastButOne, `frame ${frame}, ${place}`);
  }
});

damaged('is known by it in its header too', () => {
  for (const place of [0, 12, 16, 20, 24, 31]) {
    assert.ok(isWalDamaged(flipped(place, 3)), `${place}`);
  }
});

whole.run();
damaged.run();
