import { connect, createServer, type Socket } from 'node:net';

/*
 * The one address of a local cluster: each new connection goes to the next edge that says it is ready,
 * and to the one after it when that refuses. It knows TCP only, and connects from the caller's own
 * address, which is one of this machine: an edge sees who calls, and there is no header to believe or to
 * forge. In production whatever balances load there has this place.
 * Usage: node deploy/local/balancer.ts PORT EDGE_PORT/EDGE_OPERATORS_PORT …
 */

const HOST = '127.0.0.1';

/** How often the edges are asked whether they are ready, in milliseconds. */
const ASK_EVERY_MS = 500;
const ANSWER_MS_MAX = 1_000;

/** Taken for ready until it says otherwise: one that is not there yet refuses, which costs nothing. */
type Edge = { readonly port: number; readonly operatorsPort: number; isReady: boolean };

const [port = '', ...targets] = process.argv.slice(2);
const edges: Edge[] = targets.map((target) => {
  const [edgePort, operatorsPort] = target.split('/').map(Number);
  return { port: edgePort ?? 0, operatorsPort: operatorsPort ?? 0, isReady: true };
});
let turn = 0;

setInterval(() => edges.forEach(ask), ASK_EVERY_MS);
edges.forEach(ask);

createServer({ allowHalfOpen: true, noDelay: true }, (caller) => {
  // Until it is joined nothing else listens, and an error without a listener ends the process.
  caller.on('error', () => caller.destroy());
  join(caller, inTurn());
}).listen(Number(port), HOST);

/** Ready edges from the next on; the others behind them, because a probe may be wrong. */
function inTurn(): Edge[] {
  turn = (turn + 1) % edges.length;
  const order = [...edges.slice(turn), ...edges.slice(0, turn)];
  return order.sort((left, right) => Number(right.isReady) - Number(left.isReady));
}

/** Connects a caller to the first of these edges that takes it. */
function join(caller: Socket, [edge, ...others]: readonly Edge[]): void {
  if (edge === undefined || caller.destroyed) return void caller.destroy();
  const { remoteAddress = HOST } = caller;
  const from = remoteAddress === HOST ? {} : { localAddress: remoteAddress };
  const to = { host: HOST, port: edge.port };
  const socket = connect({ ...to, ...from, allowHalfOpen: true, noDelay: true });
  const refused = (): void => join(caller, others);
  socket.once('error', refused);
  socket.once('connect', () => {
    socket.off('error', refused);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => caller.destroySoon());
    caller.on('close', () => socket.destroy());
    if (caller.destroyed) return void socket.destroy();
    caller.pipe(socket).pipe(caller);
  });
}

function ask(edge: Edge): void {
  const url = `http://${HOST}:${edge.operatorsPort}/health/ready`;
  fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) }).then(
    (response) => {
      edge.isReady = response.ok;
      return response.body?.cancel();
    },
    () => {
      edge.isReady = false;
    },
  );
}
