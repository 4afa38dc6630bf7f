import { connect } from 'node:net';
import { formatApiKey } from '#accounts/api-key';

/*
 * Opens sockets, each with an unfinished request and an unknown key: `node endless-bodies.ts <port>
 * <count>`. Prints `open` when all requests have been sent. Replaces closed sockets until killed. A
 * file of its own, because tests run it as a process.
 */

const [port, count] = process.argv.slice(2).map(Number);
if (port === undefined || count === undefined)
  throw new Error('usage: node endless-bodies.ts <port> <count>');

/** Maximum concurrent connection attempts, so that the system's queue does not overflow. */
const OPENING_MAX = 128;

let opened = 0;
let begun = 0;

function open(): void {
  begun += 1;
  const secret = begun.toString(36).padStart(32, '0');
  const head = [
    'POST /v1/instances HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${formatApiKey('Attacker0001', secret)}`,
    'Content-Type: application/json',
    'Content-Length: 100',
  ];
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.on('data', () => undefined);
  socket.once('close', () => setTimeout(open, 100));
  socket.once('connect', () => {
    socket.write(`${head.join('\r\n')}\r\n\r\n{"name"`, () => {
      opened += 1;
      if (opened === count) process.stdout.write('open\n');
      else if (begun < Number(count)) open();
    });
  });
}

for (let i = 0; i < Math.min(OPENING_MAX, count); i += 1) open();
