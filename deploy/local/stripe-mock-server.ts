import { freePort } from '#deploy/local/free-port';
import { type LocalServer, type ServerPlace, startServer } from '#deploy/local/local-server';
import { foundStripeMock } from '#deploy/local/stripe-mock-install';

/** Reading the API's description takes a second; the rest is a busy machine. Milliseconds. */
const READY_MS_MAX = 30_000;

/** How long one look may take, in milliseconds. */
const ASK_MS_MAX = 2_000;

/** Starts stripe-mock on loopback; fulfils when it answers. Throws `MissingServer`. */
export async function startStripeMock(place: ServerPlace): Promise<LocalServer> {
  const program = foundStripeMock();
  const address = `127.0.0.1:${await freePort()}`;
  return startServer(place, {
    name: 'stripe-mock',
    program,
    // By default stripe-mock also serves HTTPS, at one fixed port of every address.
    args: ['-http-addr', address, '-https-addr', '127.0.0.1:0'],
    address,
    readyMsMax: READY_MS_MAX,
    ask: async () => {
      // Without a key it refuses, which is an answer.
      const signal = AbortSignal.timeout(ASK_MS_MAX);
      await (await fetch(`http://${address}/v1/prices`, { signal })).body?.cancel();
    },
  });
}
