import { anInstance, ORDER, processing } from '#test/clients/cases/endpoints';
import { Hindrances } from '#test/clients/cases/retries';
import type { Tape } from '#test/clients/cases/tape';
import type { Call, WireAnswer } from '#test/clients/cases/wire-case';

/** Cases for each kind of call that is always safe to retry. */
export async function repeatableCases(tape: Tape): Promise<void> {
  const instance = await anInstance(tape);
  const hindrances = new Hindrances(tape, processing(instance));
  const lost = await hindrances.of('outcome_unknown');
  const late = await hindrances.of('deadline_exceeded');
  const bug = await hindrances.of(undefined);
  const observations = [ORDER, ORDER];
  const ofFleet = { ...ORDER, instance_id: instance, idempotency_key: 'fleet-again' };
  const answers = await answersTo(tape);
  const calls: readonly Call[] = [
    { method: 'instances.create', arguments: { name: 'Again' } },
    { method: 'instances.get', arguments: { id: instance } },
    { method: 'instances.list' },
    { method: 'instance.process_batch', instance, arguments: { observations } },
    { method: 'client.process', arguments: { observations: [ofFleet] } },
    { method: 'instance.snapshot', instance },
    { method: 'instance.contract', instance },
    { method: 'instance.simulate', instance, arguments: { observations } },
    { method: 'instance.history', instance },
    { method: 'instance.drift', instance },
    { method: 'instance.states', instance, arguments: { cycles: [1] } },
    { method: 'instance.fork', instance, arguments: { name: 'Fork', cycle: 1 } },
    { method: 'instance.reset', instance, arguments: { mode: 'initial' } },
    { method: 'tests.questions' },
    { method: 'tests.submit', arguments: { answers } },
    { method: 'personas.list' },
    { method: 'personas.get', arguments: { id: 'persona_leader' } },
    { method: 'account.get' },
    { method: 'audit.list', arguments: { limit: 1 } },
    { method: 'instances.fleet' },
  ];
  const hindered: readonly WireAnswer[] = ['close', lost, late, bug];
  for (const [index, call] of calls.entries()) {
    tape.service.wait(20_000);
    // The counts of a fleet have the events of the calls before.
    await tape.service.recorded();
    // Each kind of call gets an unknown outcome with a different cause.
    const met = hindered[index % 4] ?? 'close';
    await tape.record(`${call.method}: retried`, call, { origin: 'composed', before: [met] });
  }
}

async function answersTo(tape: Tape): Promise<object[]> {
  const { questions } = await tape.play({ method: 'tests.questions' });
  return questions.map(({ id }: { readonly id: string }) => ({ question_id: id, value: 4 }));
}
