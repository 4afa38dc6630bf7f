import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mixBits } from '#stdlib/hash-map';

/** Inverses of the two multipliers modulo 2^32. */
const UNMIX_1 = 0xa5cb9243;
const UNMIX_2 = 0x7ed1b41d;

const mixing = suite('when 32 bits are mixed');

mixing('the results equal the results of MurmurHash3', () => {
  const known: [number, number][] = [
    [0, 0],
    [1, 0x514e28b7],
    [0xffffffff, 0x81f16f39],
  ];
  for (const [bits, mixed] of known) assert.is(mixBits(bits) >>> 0, mixed);
});

mixing('the mapping is invertible: no two inputs collide', () => {
  const unmixed = (mixed: number): number => {
    let bits = mixed ^ (mixed >>> 16);
    bits = Math.imul(bits, UNMIX_2);
    bits ^= (bits >>> 13) ^ (bits >>> 26);
    bits = Math.imul(bits, UNMIX_1);
    return (bits ^ (bits >>> 16)) >>> 0;
  };
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (bits) => {
      assert.is(unmixed(mixBits(bits)), bits);
    }),
  );
});

mixing('the sign of the input does not matter', () => {
  assert.is(mixBits(-5), mixBits(2 ** 32 - 5));
});

mixing.run();
