import { LOCAL_PLAN } from '#accounts/plan';
import type { Config } from '#config';
import { composeEdge } from '#edge/compose';
import { composeEngine } from '#engine/compose';
import type { AccountAdmin } from '#limiter/account-admin';
import { serveAdmin } from '#limiter/admin-server';
import { composeLimiter } from '#limiter/compose';
import { edgeConfigOf } from '#process/edge-config';
import { foundationOf, serveOperators } from '#process/foundation';
import { openStores } from '#process/ports';
import type { Opened } from '#process/process-life';
import { welcome } from '#process/welcome';

/** Everything in one process with direct calls: the local deployment of spec 1.7. */
export async function openStandalone(config: Config): Promise<Opened> {
  await using opening = new AsyncDisposableStack();
  const foundation = foundationOf(config, 'standalone');
  const operators = opening.use(await serveOperators(config, foundation));
  const stores = await openStores(config);
  const limiterPorts = { ...foundation, accounts: stores.accounts, journal: stores.openJournal() };
  const limiter = opening.use(composeLimiter(foundation.actors, limiterPorts));
  const { instances, listings } = stores;
  const enginePorts = { ...foundation, instances, listings, journal: stores.openJournal() };
  const engine = opening.use(await composeEngine(foundation.actors, enginePorts));
  const adminListen = { host: '127.0.0.1', port: config.SERVICE_ADMIN_PORT };
  const admin = opening.use(await serveAdmin(adminListen, { ...foundation, admin: limiter.admin }));
  const edgePorts = { ...foundation, engine, limiter: limiter.client };
  const edge = opening.use(await composeEdge(edgeConfigOf(config), edgePorts));
  opening.use(operators.ready());
  const key = config.SERVICE_LOCAL_ACCOUNT ? await localKey(limiter.admin) : undefined;
  process.stdout.write(
    welcome({
      api: edge.address,
      key,
      metrics: operators.address,
      admin: admin.address,
      isDocumented: config.SERVICE_DOCS_ENABLED,
    }),
  );
  return opening.move();
}

/** The key of a fresh account for whoever runs the service locally (decision 32). */
async function localKey(admin: AccountAdmin): Promise<string> {
  const account = await admin.createAccount({ name: 'local', choice: LOCAL_PLAN });
  const { key } = await admin.createKey(account.id, { scope: 'full' });
  return key;
}
