import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { GivenUp } from '#edge/callers/known-callers';
import { UnfinishedBodies } from '#edge/listen/bodies';

/** Maximum unfinished bodies, over all networks. */
const BODIES_MAX = 8_192;

/** Maximum bytes in all unfinished bodies. */
const BYTES_MAX = 64 * 1_024 * 1_024;
/** Bytes of one large unfinished body. */
const PART_BYTES = 128 * 1_024;

/** Unfinished bodies from addresses that a test chooses. */
function scene() {
  const givenUp: GivenUp[] = [];
  const bodies = new UnfinishedBodies((what) => givenUp.push(what));
  /** Addresses whose bodies were answered, in order. */
  const answered: string[] = [];
  const send = (address: string, bytes = 1): void => {
    const payload = new IncomingMessage(new Socket());
    const request = { ip: address, routeOptions: { bodyLimit: 256 * 1_024 } } as FastifyRequest;
    bodies.read(request, payload, () => answered.push(address));
    payload.push(Buffer.alloc(bytes));
  };
  return { bodies, givenUp, answered, send };
}

/** An address in the attacker's /48, in /64 number `index`. */
const attacker = (index: number): string => `2001:db8:bad:${index.toString(16)}::1`;

const flood = suite('unfinished bodies from every /64 of one /48');

flood('evict each other, oldest first, but not the two bodies of an honest caller', async () => {
  const { bodies, givenUp, answered, send } = scene();
  send('192.0.2.1');
  send('192.0.2.1');
  send('2001:db8:600d:1::1');
  send('2001:db8:600d:1::1');
  for (let index = 0; index < BODIES_MAX; index += 1) send(attacker(index));
  await turn();
  await turn();
  assert.equal(answered, [0, 1, 2, 3].map(attacker));
  assert.is(bodies.count, BODIES_MAX);
  assert.equal(givenUp[0], { address: '2001:db8:bad::/48', bodies: 8_189, bytes: 8_189 });
});

flood('that hold too many bytes evict each other as well', async () => {
  const { bodies, answered, send } = scene();
  send('192.0.2.1', PART_BYTES);
  send('192.0.2.1', PART_BYTES);
  for (let index = 0; index < BYTES_MAX / PART_BYTES; index += 1) send(attacker(index), PART_BYTES);
  await turn();
  await turn();
  assert.equal(answered, [0, 1].map(attacker));
  assert.is(bodies.bytes, BYTES_MAX);
});

flood('are evicted for at most 256 bodies of another address', async () => {
  const { bodies, givenUp, answered, send } = scene();
  for (let index = 0; index < BODIES_MAX; index += 1) send(attacker(index));
  await turn();
  await turn();
  for (let index = 0; index < BODIES_MAX; index += 1) send('192.0.2.1');
  await turn();
  await turn();
  assert.is(answered.filter((address) => address !== '192.0.2.1').length, 256);
  assert.is(bodies.count, BODIES_MAX);
  assert.is(givenUp.length, BODIES_MAX);
});

flood.run();
