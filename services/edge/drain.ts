import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { HTTP_LIMITS } from '#edge/http-limits';

/** How often a closing server looks for connections that have become idle, in milliseconds. */
const SWEEP_MS = 100;

/**
 * Watches a server's connections and returns what to call when it closes. That ends those that wait
 * for nothing at once, the others when they have their answer, and slow senders when their time is
 * over: Node counts a connection without any request as busy, and stops looking at the time once it
 * closes.
 */
export function drainOf(server: Server): () => void {
  const unused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }) => unused.delete(socket));
  return () => {
    for (const socket of unused) socket.destroy();
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS).unref();
    const end = setTimeout(() => server.closeAllConnections(), HTTP_LIMITS.requestTimeout).unref();
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(end);
    });
  };
}
