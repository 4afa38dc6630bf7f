import { connect, createServer, type Socket } from 'node:net';

/*
 * TCP load balancer of a local cluster, with an address for edges and an address for consoles. Each
 * new connection goes to the next ready process (round robin). If that process refuses the
 * connection, the balancer tries the next process. The balancer connects from the caller's own
 * loopback address: processes see the caller's address and need not trust a header. Bytes are
 * forwarded unbuffered, so event streams are neither delayed nor cut. In production, use a real
 * load balancer.
 *
 * Usage: node deploy/local/balancer.ts PORT=TARGET_PORT/TARGET_OPERATORS_PORT,… PORT=…
 */

const HOST = '127.0.0.1';

/** Interval of readiness probes, in milliseconds. */
const ASK_EVERY_MS = 500;
const ANSWER_MS_MAX = 1_000;

/**
 * A process behind the balancer. Counts as ready until its first probe: a process that has not
 * started refuses connections at once.
 */
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
    // Without a listener, an early error would end the process.
    caller.on('error', () => caller.destroy());
    turn = (turn + 1) % targets.length;
    join(caller, inTurn(targets, turn));
  }).listen(port, HOST);
}

/** Ready targets in turn order, then all other targets, because a probe may be wrong. */
function inTurn(targets: readonly Target[], turn: number): Target[] {
  const order = [...targets.slice(turn), ...targets.slice(0, turn)];
  return order.sort((left, right) => Number(right.isReady) - Number(left.isReady));
}

/** Connects a caller to the first target that accepts the connection. */
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
