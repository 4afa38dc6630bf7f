import type { Config } from '#config';
import { Courier } from '#courier/courier';
import { EndpointSender } from '#courier/endpoint-sender';
import { type Fault, toFault } from '#errors/fault';
import { courierProtocol } from '#grpc/courier-codec';
import type { CourierClient, CourierOutcome, OutgoingMessage } from '#grpc/courier-messages';
import { FrameClient } from '#grpc/frame-client';
import { frameService } from '#grpc/frame-server';
import { serveGrpc } from '#grpc/grpc-server';
import { refusalObserver, serverObserver } from '#startup/cluster';
import { openProcessPort } from '#startup/process/admin-port';
import { type Foundation, openFoundation, serveOperators } from '#startup/process/dependencies';
import { type Opened, say } from '#startup/process/lifetime';
import { clusterSecretsOf } from '#startup/process/secrets';
import type { Reloadable } from '#stdlib/files';
import { contains, readAddress, readNetwork } from '#stdlib/network';
import { releaseOf } from '#stdlib/release';
import { SecretSeal } from '#stdlib/secret-seal';
import { SECRET_SEAL_LABEL } from '#webhooks/signature';

/**
 * Opens a courier process: sends messages of engines to webhook endpoints. Has no stores and no
 * bus. Only this process needs a way to the internet.
 */
export async function openCourier(config: Config, stop: AbortSignal): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = opening.use(await openFoundation(config, 'courier', stop));
  const operators = opening.use(await serveOperators(config, foundation));
  const courier = opening.use(
    courierInProcess(config, foundation, clusterSecretsOf(config, foundation)),
  );
  const { metrics, onBug: reportBug, tracer } = foundation;
  const observer = serverObserver(metrics, 'courier');
  const server = opening.use(
    await serveGrpc({
      listen: config.SERVICE_COURIER_LISTEN,
      services: [frameService(courierProtocol, courier, { reportBug, observer, tracer })],
      tls: foundation.tls(),
      onRefused: refusalObserver(foundation),
    }),
  );
  const port = await openProcessPort(config, foundation);
  if (port !== undefined) opening.use(port);
  stop.throwIfAborted();
  opening.use(operators.ready());
  say(foundation, { grpc: server.address, metrics: `${operators.address}/metrics` });
  return opening.move();
}

/** Courier in this process. `secrets` are the cluster secrets that sealed the endpoints' secrets. */
export function courierInProcess(
  { SERVICE_WEBHOOK_NETWORKS: cidrs }: Config,
  { clock }: Foundation,
  secrets: Reloadable<readonly string[]>,
): CourierClient & Disposable {
  const networks = cidrs.flatMap((cidr) => readNetwork(cidr) ?? []);
  const isInternal = (text: string): boolean => {
    const address = readAddress(text);
    return address !== undefined && networks.some((network) => contains(network, address));
  };
  const sender = new EndpointSender({ isInternal });
  const seal = new SecretSeal(secrets, SECRET_SEAL_LABEL);
  const courier = new Courier({ seal, sender, clock, release: releaseOf() });
  return {
    ask: (message) => courier.ask(message),
    [Symbol.dispose]: () => sender[Symbol.dispose](),
  };
}

/** Client of the courier processes at the configured addresses. */
export function remoteCouriers(
  { SERVICE_COURIER_ADDRESSES: addresses }: Config,
  { tls, tracer, dependencies }: Foundation,
): CourierClient & AsyncDisposable {
  const opened = new AsyncDisposableStack();
  const shown = tls();
  const peers = addresses.map((address) => {
    const dependency = dependencies.watch('courier', address);
    return opened.use(
      new FrameClient(courierProtocol, { address, tls: shown, tracer, dependency }),
    );
  });
  return {
    ask: inTurn(peers),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/**
 * Asks one courier after the other, beginning at the next one with each message. A message that may
 * have left is not sent a second time.
 */
function inTurn(peers: readonly CourierClient[]): CourierClient['ask'] {
  let next = 0;
  return async (message: OutgoingMessage): Promise<CourierOutcome> => {
    next = (next + 1) % peers.length;
    let fault: Fault | undefined;
    for (const peer of [...peers.slice(next), ...peers.slice(0, next)]) {
      try {
        return await peer.ask(message);
      } catch (error) {
        fault = toFault(error);
        if (fault.isOutcomeUnknown) break;
      }
    }
    throw fault;
  };
}
