import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOfLife } from '#test/identity/lives';

const digests = readFileSync('test/identity/lives.txt', 'utf8').trimEnd().split('\n');

const lives = suite('recorded lives');

// Replays of stored observations would no longer reach the stored states.
lives('give the same states and reports, bit for bit', () => {
  for (const life of [0, 1, 2, 3, 4]) assert.is(digestOfLife(life), digests[life], `life ${life}`);
});

lives.run();
