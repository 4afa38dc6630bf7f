import { anInstance, processing } from '#test/clients/cases/endpoints';
import { Hindrances } from '#test/clients/cases/retries';
import type { Tape } from '#test/clients/cases/tape';
import type { Call, WireAnswer } from '#test/clients/cases/wire-case';
import { ENDPOINTS_MAX } from '#webhooks/endpoint';

const URL = 'https://app.example/hooks/identity';

/** Cases of webhook endpoints. */
export async function webhookCases(tape: Tape): Promise<void> {
  const fields = { url: URL, event_types: ['created', 'deleted'], max_batch: 10 };
  const create: Call = { method: 'webhooks.create', arguments: fields };
  const { id } = await tape.record('webhooks: a new endpoint', create);
  const instance = await anInstance(tape);
  await tape.service.recorded();
  await tape.service.delivered(1);
  const of = (method: Call['method'], more = {}): Call => ({ method, arguments: { id, ...more } });
  await tape.record('webhooks: the list', { method: 'webhooks.list' });
  await tape.record('webhooks: one endpoint', of('webhooks.get'));
  const pause = of('webhooks.update', { is_paused: true });
  await tape.record('webhooks: deliveries', of('webhooks.deliveries'));
  await tape.record('webhooks: a test message', of('webhooks.test'));
  await tape.record('webhooks: a change once more', of('webhooks.redeliver', { positions: [0] }));
  await tape.record('webhooks: a new secret', of('webhooks.rotate'));
  await tape.record('webhooks: paused', pause);
  const paused = of('webhooks.redeliver', { positions: [0] });
  await tape.record('webhooks: a change for a paused endpoint', paused);
  const resume = of('webhooks.update', { is_paused: false, description: 'ours' });
  await tape.record('webhooks: resumed', resume);
  await refusedCases(tape);
  await hinderedCases(tape, instance, id);
}

async function refusedCases(tape: Tape): Promise<void> {
  const create: Call = { method: 'webhooks.create', arguments: { url: 'https://10.0.0.1/' } };
  await tape.record('webhooks: a private address', create);
  const another: Call = { method: 'webhooks.create', arguments: { url: URL } };
  for (let count = 1; count < ENDPOINTS_MAX; count += 1) await tape.play(another);
  await tape.record('webhooks: too many endpoints', another);
}

/** Reads are always retried. Changes are retried only if nothing has happened. */
async function hinderedCases(tape: Tape, instance: string, id: string): Promise<void> {
  const hindrances = new Hindrances(tape, processing(instance));
  const certain = await hindrances.of('limiter_unavailable');
  const open = await hindrances.of('outcome_unknown');
  const arguments_ = { id };
  const origin = 'composed';
  const retried = async (call: Call, before: WireAnswer): Promise<void> => {
    await tape.record(`${call.method}: retried`, call, { origin, before: [before] });
  };
  await retried({ method: 'webhooks.list' }, open);
  await retried({ method: 'webhooks.get', arguments: arguments_ }, 'close');
  await retried({ method: 'webhooks.deliveries', arguments: arguments_ }, open);
  const changes: readonly Call[] = [
    { method: 'webhooks.update', arguments: { id, max_batch: 5 } },
    { method: 'webhooks.rotate', arguments: arguments_ },
    { method: 'webhooks.test', arguments: arguments_ },
    { method: 'webhooks.redeliver', arguments: { id, positions: [0] } },
    { method: 'webhooks.delete', arguments: arguments_ },
    { method: 'webhooks.create', arguments: { url: URL } },
  ];
  for (const call of changes) await retried(call, certain);
  const unclear = { expect: { error: { class: 'ConnectionError', may_have_happened: true } } };
  const lost: Call = { method: 'webhooks.rotate', arguments: arguments_ };
  const name = 'webhooks: not retried after a closed connection';
  await tape.record(name, lost, { origin, instead: 'close', ...unclear });
  const gone: Call = { method: 'webhooks.delete', arguments: arguments_ };
  await tape.record('webhooks: 404 after a closed connection means deleted', gone, {
    ...{ origin, before: ['close'] as const },
    expect: { error: undefined, data: { id, deleted: true }, attempts: 2 },
  });
}
