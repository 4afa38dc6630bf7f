import { connect } from 'node:net';
import { formatApiKey } from '#accounts/api-key';

/*
 * A process that holds sockets open on each of which a request with a made-up key has begun and does
 * not end: `node endless-bodies.ts <port> <count>`. It says `open` when all of them have been sent, and
 * opens another for each that is closed, until it is killed.
 */

const [port, count] = process.argv.slice(2).map(Number);
if (port === undefined || count === undefined) throw new Error('which port, and how many?');

/** Sockets that are opened at once: the system's queue has room for them. */
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
