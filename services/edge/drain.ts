import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { HTTP_LIMITS } from '#edge/http-limits';

/** How often a closing server looks at its connections, in milliseconds. */
const SWEEP_MS = 100;

/**
 * How long no connection must have come before a server that is not ready is taken to be alone: a
 * fifth of the time it has, but no less than this, in milliseconds, which is two probes of a
 * balancer that asks every half second. A connection that comes after the listener has closed meets
 * a reset, after which no caller knows what became of its call. Source: decision 99.
 */
const QUIET_MS_MIN = 1_000;

/** A server's way out, in two steps. */
type Drain = {
  /**
   * Fulfils when no connection is left and none has come for a second or a fifth of `forMs`, or
   * after `forMs`. Until then the server answers as ever, but each answer is its connection's last:
   * a balancer has time to send new calls elsewhere, and no caller's next call meets a closed
   * listener.
   */
  sendAway(forMs: number): Promise<void>;
  /**
   * Ends the connections that wait for nothing within a fifth of a second, the others when they
   * have their answer, and slow senders when their time is over: Node counts a connection without
   * any request as busy, and stops looking at the time once it closes.
   */
  end(): void;
};

/** Watches a server's connections from its start. */
export function drainOf(server: Server): Drain {
  const open = new Set<Socket>();
  const unused = new Set<Socket>();
  let arrivals = 0;
  server.on('connection', (socket: Socket) => {
    arrivals += 1;
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
      const enoughMs = Math.max(QUIET_MS_MIN, forMs / 5);
      let quietMs = 0;
      for (let leftMs = forMs; leftMs > 0 && quietMs < enoughMs; leftMs -= SWEEP_MS) {
        const before = arrivals;
        await sleep(Math.min(leftMs, SWEEP_MS));
        // After a standstill waiting connections are accepted behind the timers.
        await setImmediate();
        quietMs = open.size === 0 && arrivals === before ? quietMs + SWEEP_MS : 0;
      }
    },
    end() {
      // Not at the first look: the first request of one that has just come may be on its way.
      let unusedBefore = new Set<Socket>();
      const sweep = setInterval(() => {
        for (const socket of unused) if (unusedBefore.has(socket)) socket.destroy();
        unusedBefore = new Set(unused);
        server.closeIdleConnections();
      }, SWEEP_MS).unref();
      const overMs = HTTP_LIMITS.requestTimeout;
      const end = setTimeout(() => server.closeAllConnections(), overMs).unref();
      server.once('close', () => {
        clearInterval(sweep);
        clearTimeout(end);
      });
    },
  };
}
