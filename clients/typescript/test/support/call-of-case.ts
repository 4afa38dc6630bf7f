import type { IdentityEngine } from '../../src/identity-engine.ts';
import type { WireCall } from './wire-case.ts';

type Arguments = Readonly<Record<string, ReturnType<typeof JSON.parse>>>;

/**
 * Makes the call of a case. Returns a promise for the result or page, or an iterable over items or
 * events.
 */
export function makeCall(client: IdentityEngine, call: WireCall): unknown {
  const options = optionsOf(call.options ?? {});
  const given = call.arguments ?? {};
  if (call.method === 'client.request') {
    const { method, path, ...content } = given;
    return client.request(method, path, { ...content, ...options });
  }
  const make = call.method.startsWith('instance.') ? ofInstance : OF_CLIENT[call.method];
  if (make === undefined) throw new Error(`no runner for ${call.method}`);
  return make === ofInstance
    ? ofInstance(client, call, given, options)
    : (make as Make)(client, given, options);
}

type Make = (client: IdentityEngine, given: Arguments, options: object) => unknown;

const OF_CLIENT: Readonly<Record<string, Make>> = {
  'instances.create': (client, given, options) => client.instances.create(given as never, options),
  'instances.get': (client, { id }, options) => client.instances.get(id, options),
  'instances.update': (client, { id, ...fields }, options) =>
    client.instances.update(id, fields, options),
  'instances.delete': (client, { id }, options) => client.instances.delete(id, options),
  'instances.list': (client, query, options) => client.instances.list(query, options),
  'instances.fleet': (client, _, options) => client.instances.fleet(options),
  'instances.iterate': (client, query, options) => client.instances.iterate(query, options),
  'personas.list': (client, query, options) => client.personas.list(query, options),
  'personas.get': (client, { id }, options) => client.personas.get(id, options),
  'tests.questions': (client, _, options) => client.tests.questions(options),
  'tests.submit': (client, { answers, version }, options) =>
    client.tests.submit(answers, { ...options, version }),
  'account.get': (client, _, options) => client.account.get(options),
  'audit.list': (client, query, options) => client.audit.list(query, options),
  'audit.iterate': (client, query, options) => client.audit.iterate(query, options),
  'events.list': (client, query, options) => client.events.list(query, options),
  'events.follow': (client, given, options) => client.events.follow({ ...given, ...options }),
  'webhooks.create': (client, fields, options) => client.webhooks.create(fields as never, options),
  'webhooks.list': (client, _, options) => client.webhooks.list(options),
  'webhooks.get': (client, { id }, options) => client.webhooks.get(id, options),
  'webhooks.update': (client, { id, ...fields }, options) =>
    client.webhooks.update(id, fields, options),
  'webhooks.delete': (client, { id }, options) => client.webhooks.delete(id, options),
  'webhooks.rotate': (client, { id }, options) => client.webhooks.rotate(id, options),
  'webhooks.test': (client, { id }, options) => client.webhooks.test(id, options),
  'webhooks.deliveries': (client, { id }, options) => client.webhooks.deliveries(id, options),
  'webhooks.redeliver': (client, { id, positions }, options) =>
    client.webhooks.redeliver(id, positions, options),
  'billing.checkout': (client, fields, options) =>
    client.billing.checkout(fields as never, options),
  'client.process': (client, { observations, include_state: includeState }, options) =>
    client.process(observations, { ...options, includeState }),
  'billing.portal': (client, fields, options) => client.billing.portal(fields as never, options),
};

function ofInstance(
  client: IdentityEngine,
  { method, instance: id = '' }: WireCall,
  given: Arguments,
  options: object,
): unknown {
  const instance = client.instance(id);
  const { include_intermediate: includeIntermediate, observations } = given;
  switch (method) {
    case 'instance.process':
      return instance.process(given['observation'], options);
    case 'instance.process_batch':
      return instance.processBatch(observations, { ...options, includeIntermediate });
    case 'instance.snapshot':
      return instance.snapshot(options);
    case 'instance.contract':
      return instance.contract(options);
    case 'instance.reset':
      return instance.reset(given['mode'], options);
    case 'instance.history':
      return instance.history(given, options);
    case 'instance.iterate_history':
      return instance.iterateHistory(given, options);
    case 'instance.drift':
      return instance.drift(given, options);
    case 'instance.iterate_drift':
      return instance.iterateDrift(given, options);
    case 'instance.simulate':
      return instance.simulate(observations, options);
    case 'instance.states':
      return instance.states(given, options);
    case 'instance.fork':
      return instance.fork(given as never, options);
    case 'instance.events':
      return instance.events({ ...options, after: given['after'] });
    default:
      throw new Error(`no runner for ${method}`);
  }
}

const OPTION_NAMES: Readonly<Record<string, string>> = {
  idempotency_key: 'idempotencyKey',
  if_match: 'ifMatch',
  if_none_match: 'ifNoneMatch',
  request_id: 'requestId',
  strict: 'strict',
  headers: 'headers',
};

function optionsOf(given: Arguments): object {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (name === 'timeout_s') return ['timeoutMs', value * 1_000];
      const own = OPTION_NAMES[name];
      if (own === undefined) throw new Error(`no option ${name}`);
      return [own, value];
    }),
  );
}
