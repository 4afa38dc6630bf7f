import { foundStripeMock } from '#deploy/local/install/stripe-mock';
import { freePort } from '#deploy/local/servers/free-port';
import {
  type LocalServer,
  type ServerPlace,
  startServer,
} from '#deploy/local/servers/local-server';

/* Separate from the test runner, because each server program has its own file in this folder. */

/** Maximum start time, in ms. Reading the API description takes a second. */
const READY_MS_MAX = 30_000;

/** Maximum time of a readiness check, in milliseconds. */
const ASK_MS_MAX = 2_000;

/** Starts stripe-mock on loopback; resolves when stripe-mock answers. Throws `MissingServer`. */
export async function startStripeMock(place: ServerPlace): Promise<LocalServer> {
  const program = foundStripeMock();
  const address = `127.0.0.1:${await freePort()}`;
  return startServer(place, {
    name: 'stripe-mock',
    program,
    // By default, stripe-mock also serves HTTPS on a fixed port of every address.
    args: ['-http-addr', address, '-https-addr', '127.0.0.1:0'],
    address,
    readyMsMax: READY_MS_MAX,
    ask: async () => {
      // A call without a key is refused; the refusal proves readiness.
      const signal = AbortSignal.timeout(ASK_MS_MAX);
      await (await fetch(`http://${address}/v1/prices`, { signal })).body?.cancel();
    },
  });
}
