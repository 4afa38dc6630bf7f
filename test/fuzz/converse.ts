import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Script } from '#test/fuzz/framing';
import { isLast, readAnswers } from '#test/fuzz/read-answers';

/** Data received on one connection. */
export type Talk = {
  readonly received: Buffer;
  /** Whether the deadline passed before all answers came or the connection ended. */
  readonly isOverdue: boolean;
  /** Whether the service closed the connection before all answers. */
  readonly isClosed: boolean;
};

/**
 * Maximum time in milliseconds until the service has answered all requests, or has closed the
 * connection after broken data. The service closes connections of slow senders after 10 s.
 */
const TALK_MS_MAX = 20_000;

/** Pause between two writes in milliseconds, so that the service reads the writes separately. */
const TURN_MS = 2;

/** Runs a script on a new connection to a loopback port. */
export async function converse(port: number, script: Script): Promise<Talk> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  const stir = () => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  const end = () => {
    isOver = true;
    stir();
  };
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    stir();
  });
  // A reset also ends the connection. The data received so far is still checked.
  socket.on('error', end).once('end', end).once('close', end);
  try {
    await Promise.race([once(socket, 'connect'), wake.promise]);
    for (const step of script.steps) {
      if (step.kind === 'write' && socket.writable) socket.write(step.bytes);
      else if (step.kind === 'turn') await sleep(TURN_MS);
      else if (step.kind === 'end') socket.end();
      else if (step.kind === 'cut') {
        return { received: Buffer.concat(chunks), isOverdue: false, isClosed: false };
      }
    }
    const deadline = AbortSignal.timeout(TALK_MS_MAX);
    const late = once(deadline, 'abort');
    const isEnough = () => hasAll(script, Buffer.concat(chunks));
    while (!isOver && !deadline.aborted && !isEnough()) await Promise.race([wake.promise, late]);
    const isShort = !isEnough();
    const received = Buffer.concat(chunks);
    return { received, isOverdue: isShort && !isOver, isClosed: isShort && isOver };
  } finally {
    socket.destroy();
  }
}

/** Whether every request is answered, or an answer announces the end of the connection. */
function hasAll({ answers: wanted, isHeadOnly }: Script, received: Buffer): boolean {
  if (wanted === undefined) return false;
  const { answers } = readAnswers(received, isHeadOnly);
  return answers.length >= wanted || answers.some(isLast);
}
