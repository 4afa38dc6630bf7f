import { connect, createServer, type Socket } from 'node:net';

/*
 * The addresses of a local cluster, one for its edges and one for its consoles: each new connection goes
 * to the next process there that says it is ready, and to the one after it when that refuses. It knows
 * TCP only, and connects from the caller's own address, which is one of this machine: a process sees who
 * calls, and there is no header to believe or to forge. Bytes pass as they come, for as long as both sides
 * hold the connection, so a stream of events is neither held back nor cut. In production whatever balances
 * loads there has this place.
 * Usage: node deploy/local/balancer.ts PORT=TARGET_PORT/TARGET_OPERATORS_PORT,… PORT=…
 */

const HOST = '127.0.0.1';

/** How often targets are asked whether they are ready, in milliseconds. */
const ASK_EVERY_MS = 500;
const ANSWER_MS_MAX = 1_000;

/** Taken for ready until it says otherwise: one that is not there yet refuses, which costs nothing. */
type Target = { readonly port: number; readonly operatorsPort: number; isReady: boolean };

for (const entrance of process.argv.slice(2)) {
  const [port = '', targets = ''] = entrance.split('=');
  balance(Number(port), targets.split(',').map(targetOf));
}

function targetOf(text: string): Target {
  const [port = 0, operatorsPort = 0] = text.split('/').map(Number);
  return { port, operatorsPort, isReady: true };
}

function balance(port: number, targets: readonly Target[]): void {
  let turn = 0;
  setInterval(() => targets.forEach(ask), ASK_EVERY_MS);
  targets.forEach(ask);
  createServer({ allowHalfOpen: true, noDelay: true }, (caller) => {
    // Until it is joined nothing else listens, and an error without a listener ends the process.
    caller.on('error', () => caller.destroy());
    turn = (turn + 1) % targets.length;
    join(caller, inTurn(targets, turn));
  }).listen(port, HOST);
}

/** Ready targets from this turn on; the others behind them, because a probe may be wrong. */
function inTurn(targets: readonly Target[], turn: number): Target[] {
  const order = [...targets.slice(turn), ...targets.slice(0, turn)];
  return order.sort((left, right) => Number(right.isReady) - Number(left.isReady));
}

/** Connects a caller to the first of these targets that takes it. */
function join(caller: Socket, [target, ...others]: readonly Target[]): void {
  if (target === undefined || caller.destroyed) return void caller.destroy();
  const { remoteAddress = HOST } = caller;
  const from = remoteAddress === HOST ? {} : { localAddress: remoteAddress };
  const to = { host: HOST, port: target.port };
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

function ask(target: Target): void {
  const url = `http://${HOST}:${target.operatorsPort}/health/ready`;
  fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) }).then(
    (response) => {
      target.isReady = response.ok;
      return response.body?.cancel();
    },
    () => {
      target.isReady = false;
    },
  );
}
