import { once } from 'node:events';
import { connect } from 'node:net';

/** Timeout of a ping, in ms. */
const ANSWER_MS_MAX = 2_000;

/**
 * Pings the NATS server at `nats://host:port` and returns its version. Throws if the server does
 * not answer.
 */
export async function natsVersionAt(address: string): Promise<string> {
  const { hostname, port } = new URL(address);
  const socket = connect({ host: hostname, port: Number(port) });
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  try {
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    // Wait for the server's INFO first: a server may wait for a TLS handshake.
    while (!text.includes('\r\n')) await once(socket, 'data', { signal });
    socket.write('CONNECT {"verbose":false}\r\nPING\r\n');
    while (!text.includes('PONG\r\n')) await once(socket, 'data', { signal });
    return /"version":"([^"]+)"/.exec(text)?.[1] ?? '';
  } finally {
    socket.destroy();
  }
}
