import type { Config } from '#config';
import type { AccountAdmin } from '#limiter/account-admin';
import { composeLimiter } from '#limiter/compose';
import { openAdminPort } from '#process/admin-port';
import { foundationOf, serveOperators } from '#process/foundation';
import { LateNode } from '#process/late-node';
import { limiterConfigOf } from '#process/limiter-config';
import { joinLimiters } from '#process/limiter-service';
import { assertReachable, clockWatchOf, clusterOf } from '#process/membership';
import { openBus, openStores } from '#process/ports';
import type { Opened } from '#process/process-life';
import { say } from '#process/ready-line';
import { refusalObserver, serverObserver } from '#process/rpc-metrics';
import type { AdminTarget, UsageAdmin } from '#wire/admin';
import { adminService } from '#wire/admin-service';
import { serveGrpc } from '#wire/grpc-server';
import type { LimiterClient } from '#wire/limiter-messages';
import { limiterServer } from '#wire/limiter-server';

/**
 * A limiter process: meters behind gRPC, alone on memory or one of a cluster, and the admin port of
 * all accounts.
 */
export async function openLimiter(config: Config): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'limiter');
  const tls = foundation.tls();
  const operators = opening.use(await serveOperators(config, foundation));
  const stores = opening.use(await openStores(config, foundation));
  if (stores.kind === 'shared') {
    assertReachable(config, 'SERVICE_LIMITER_LISTEN', 'SERVICE_LIMITER_ADVERTISE');
  }
  const bus = opening.use(await openBus(config, foundation, await clusterOf(stores, foundation)));
  const late = new LateNode<LimiterClient, UsageAdmin>('limiter');
  const { onBug: reportBug } = foundation;
  const frames = foundation.metrics.histogram('limiter_frame_messages').labels({});
  const observer = serverObserver(foundation.metrics, 'limiter', (count) => frames.observe(count));
  const target: AdminTarget = {
    identity: () => late.identity(),
    drain: () => late.drain(),
    readUsage: async (accountId) => await late.admin.readUsage(accountId),
    resetUsage: async (accountId) => await late.admin.resetUsage(accountId),
  };
  const limiter: LimiterClient = { ask: (call) => late.client.ask(call) };
  const services = [
    limiterServer(limiter, { reportBug, observer }),
    adminService(target, reportBug),
  ];
  const onRefused = refusalObserver(foundation);
  const grpc = { listen: config.SERVICE_LIMITER_LISTEN, services, tls, onRefused };
  const server = opening.use(await serveGrpc(grpc));
  let accounts: AccountAdmin;
  if (stores.kind === 'local') {
    const { meterJournal: journal } = stores;
    const ports = { ...foundation, ...stores, accountNews: undefined, journal };
    const alone = composeLimiter(limiterConfigOf(config, foundation), ports);
    late.begin(opening.use(alone).client);
    accounts = alone.admin;
  } else {
    const address = config.SERVICE_LIMITER_ADVERTISE ?? server.address;
    const clocks = opening.use(clockWatchOf(config, foundation, bus, stores));
    const joined = await joinLimiters(config, foundation, stores, bus, address, clocks);
    const node = opening.use(joined);
    late.beginNode(node);
    accounts = node.admin;
  }
  const admin = opening.use(await openAdminPort(config, foundation, accounts));
  const metrics = `${operators.address}/metrics`;
  opening.use(operators.ready());
  say('limiter', { grpc: server.address, admin: admin.address, metrics });
  return opening.move();
}
