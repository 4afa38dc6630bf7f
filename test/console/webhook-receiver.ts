import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as assert from 'uvu/assert';
import { Courier } from '#courier/courier';
import { EndpointSender } from '#courier/endpoint-sender';
import type { CourierClient } from '#grpc/courier-messages';
import { systemClock } from '#stdlib/clock';
import { unchanging } from '#stdlib/files';
import { SecretSeal } from '#stdlib/secret-seal';
import type { TestConsole } from '#test/console/console-fixture';
import { pass } from '#test/support/passing';
import { SECRET_SEAL_LABEL } from '#webhooks/signature';

/** A message as the receiver got it. */
type Received = {
  readonly id: string;
  readonly headers: Record<string, string>;
  readonly body: string;
};

/** Answers of the receiver. `slow`: no answer before the courier gives up. */
type Answer = number | 'slow';

/** A real endpoint on loopback, and a real courier that may send there. */
export type Receiver = Disposable & {
  readonly url: string;
  readonly courier: CourierClient;
  readonly received: Received[];
  /** Sets the answers from now on. */
  readonly answerWith: (answer: Answer) => void;
};

/** Maximum duration of a delivery, in milliseconds. Short, for endpoints that never answer. */
const DELIVERY_MS_MAX = 500;

/** Opens a receiver. `secret`: cluster secret of the console that creates the endpoints. */
export async function openReceiver(secret = 'the secret of this test'): Promise<Receiver> {
  const received: Received[] = [];
  let answer: Answer = 200;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const headers = request.headers as Record<string, string>;
      received.push({ id: `${headers['webhook-id']}`, headers, body });
      respond(response, answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const isLoopback = (address: string) => address === '127.0.0.1';
  const sender = new EndpointSender({
    ...{ isInternal: isLoopback, isShown: isLoopback, deliveryMsMax: DELIVERY_MS_MAX },
  });
  const seal = new SecretSeal(unchanging([secret]), SECRET_SEAL_LABEL);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    courier: new Courier({ seal, sender, clock: systemClock, release: 'test' }),
    received,
    answerWith: (next) => {
      answer = next;
    },
    [Symbol.dispose]: () => {
      sender[Symbol.dispose]();
      server.close();
      server.closeAllConnections();
    },
  };
}

function respond(response: ServerResponse, answer: Answer): void {
  if (answer === 'slow') return;
  const text = answer < 300 ? '{"received":true}' : `<b>status ${answer}</b>: no database`;
  response.writeHead(answer, { 'content-type': answer < 300 ? 'application/json' : 'text/html' });
  response.end(text);
}

/** Steps of the clock until something must have happened. Each step waits for the event loop. */
const STEPS_MAX = 2_000;

/** Advances the clock of the console until something has happened. */
export async function until(
  { clock }: Pick<TestConsole, 'clock'>,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  for (let steps = 0; !(await isSo()); steps += 1) {
    assert.ok(steps < STEPS_MAX, `not within ${STEPS_MAX} steps`);
    await pass(clock, 50);
  }
}
