import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HTTP_LIMITS } from '#edge/http-limits';

/** How often a closing server looks at its connections, in milliseconds. */
const SWEEP_MS = 100;

/** A server's way out, in two steps. */
export type Drain = {
  /**
   * Fulfils when no connection is left, or after `forMs`. Until then the server answers as ever,
   * but each answer is its connection's last: whoever balances has time to send new calls elsewhere,
   * and no caller's next call meets a closed door.
   */
  sendAway(forMs: number): Promise<void>;
  /**
   * Ends the connections that wait for nothing at once, the others when they have their answer, and
   * slow senders when their time is over: Node counts a connection without any request as busy, and
   * stops looking at the time once it closes.
   */
  end(): void;
};

/** Watches a server's connections from its start. */
export function drainOf(server: Server): Drain {
  const open = new Set<Socket>();
  const unused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    unused.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      unused.delete(socket);
    });
  });
  server.on('request', ({ socket }) => unused.delete(socket));
  return {
    async sendAway(forMs) {
      for (let leftMs = forMs; leftMs > 0 && open.size > 0; leftMs -= SWEEP_MS) {
        await sleep(Math.min(leftMs, SWEEP_MS));
      }
    },
    end() {
      for (const socket of unused) socket.destroy();
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS).unref();
      const overMs = HTTP_LIMITS.requestTimeout;
      const end = setTimeout(() => server.closeAllConnections(), overMs).unref();
      server.once('close', () => {
        clearInterval(sweep);
        clearTimeout(end);
      });
    },
  };
}
