import { anInstance, processing } from '#test/clients/cases/endpoints';
import { Hindrances } from '#test/clients/cases/retries';
import type { Parts, Tape } from '#test/clients/cases/tape';
import type { Call, WireAnswer } from '#test/clients/cases/wire-case';

/**
 * Cases of calls without an idempotency key. Such a call, except DELETE, is retried only if the
 * failed attempt certainly had no effect.
 */
export async function unkeyedCases(tape: Tape): Promise<void> {
  const id = await anInstance(tape);
  const update: Call = { method: 'instances.update', arguments: { id, name: 'Ada II' } };
  const hindrances = new Hindrances(tape, processing(id));
  const certain = await hindrances.of('limiter_unavailable');
  const open = await hindrances.of('outcome_unknown');
  const composed = (parts: Partial<Parts>) => ({ origin: 'composed', ...parts }) as const;
  await tape.record(
    'update: retried after a failure without effect',
    update,
    composed({ before: [certain] }),
  );
  for (const reason of ['deadline_exceeded', 'outcome_unknown', 'engine_unavailable'] as const) {
    const instead = await hindrances.of(reason);
    await tape.record(`update: not retried after 503 ${reason}`, update, composed({ instead }));
  }
  const bug = await hindrances.of(undefined);
  await tape.record('update: not retried after 500', update, composed({ instead: bug }));
  const unclear = { expect: { error: { class: 'ConnectionError', may_have_happened: true } } };
  const lost = composed({ instead: 'close', ...unclear });
  await tape.record('update: not retried after a closed connection', update, lost);
  const urls = { success_url: 'https://app.example/done', cancel_url: 'https://app.example/no' };
  const checkout: Call = { method: 'billing.checkout', arguments: { plan: 'pro', ...urls } };
  await tape.record('billing: not retried after a closed connection', checkout, lost);
  const portal: Call = {
    method: 'billing.portal',
    arguments: { return_url: 'https://app.example/billing' },
  };
  const before = [certain];
  await tape.record(
    'billing: retried after a failure without effect',
    portal,
    composed({ before }),
  );
  await deleteCases(tape, certain, open);
}

async function deleteCases(tape: Tape, certain: WireAnswer, open: WireAnswer): Promise<void> {
  const removal = async (): Promise<Call> => {
    return { method: 'instances.delete', arguments: { id: await anInstance(tape) } };
  };
  const origin = 'composed';
  for (const [what, hindrance] of Object.entries({
    'a failure without effect': certain,
    'an unknown outcome': open,
    'a closed connection': 'close',
  } as const)) {
    const before = [hindrance];
    await tape.record(`delete: retried after ${what}`, await removal(), { origin, before });
  }
  for (const [what, hindrance] of Object.entries({
    'a closed connection': 'close',
    'an unknown outcome': open,
  } as const)) {
    const call = await removal();
    await tape.play(call);
    await tape.record(`delete: 404 after ${what} means deleted`, call, {
      ...{ origin, before: [hindrance] },
      expect: {
        error: undefined,
        data: { id: call.arguments?.['id'], deleted: true },
        attempts: 2,
      },
    });
  }
  const call = await removal();
  await tape.play(call);
  const before = [certain];
  await tape.record('delete: 404 after a failure without effect is an error', call, {
    origin,
    before,
  });
}
