import { anInstance, processing } from '#test/clients/cases/endpoints';
import { requestOfCall } from '#test/clients/cases/request-of-call';
import type { Tape } from '#test/clients/cases/tape';
import type { Call, Json, WireAnswer } from '#test/clients/cases/wire-case';

type Answer = Exclude<WireAnswer, string>;

/** Cases with answers of a later service to a current client (interface 9.4, decision 269). */
export async function toleranceCases(tape: Tape): Promise<void> {
  const instance = await anInstance(tape);
  const observe = processing(instance);
  await changed(tape, 'process: fields of a later release', observe, (body) => {
    const { snapshot, contract, drift } = body.data;
    const later = { mood: { valence: 0.5 } };
    return {
      ...{ data: { snapshot: { ...snapshot, ...later }, contract, drift, ...later }, took_ms: 3 },
    };
  });
  tape.service.wait(5_000);
  await changed(tape, 'process: values of a later release', observe, (body) => {
    const { snapshot, contract, drift } = body.data;
    const style = { ...contract.decision_style, tempo: 'glacial' };
    const allowed_actions = ['meditate', ...contract.allowed_actions];
    const calm = { stress_state: 'CALM' };
    const shown = { ...contract, ...calm, allowed_actions, decision_style: style };
    const data = { snapshot: { ...snapshot, ...calm }, contract: shown };
    return { data: { ...data, drift: { ...drift, level: 'D4' } } };
  });
  const personas: Call = { method: 'personas.list' };
  await changed(
    tape,
    'personas: a persona of a later release',
    personas,
    ({ data, pagination }) => {
      const [first, ...rest] = data;
      const later = { ...first, id: 'persona_stoic', temperament: 'even' };
      return { data: [later, ...rest], pagination: { ...pagination, curated: true } };
    },
  );
  const account: Call = { method: 'account.get' };
  await changed(tape, 'account: a plan of a later release', account, ({ data }) => {
    return { data: { ...data, plan: { ...data.plan, name: 'galactic' } } };
  });
  await laterErrors(tape);
}

/** Records a case with the service's answer to a call, but with a changed body. */
async function changed(tape: Tape, name: string, call: Call, change: (body: Json) => Json) {
  const answer = await tape.ask(requestOfCall(call), tape.key);
  const headers = { ...answer.headers, 'x-mood': 'even' };
  const instead: Answer = { ...answer, headers, body: change(answer.body) };
  await tape.record(name, call, { origin: 'composed', instead });
}

async function laterErrors(tape: Tape): Promise<void> {
  const call: Call = { method: 'instances.get', arguments: { id: 'inst_00000000000000ff' } };
  const refused = await tape.ask(requestOfCall(call), tape.key);
  const later = async (name: string, status: number, body: Json) => {
    const instead: Answer = { ...refused, status, body };
    await tape.record(name, call, { origin: 'composed', instead });
  };
  await later('error: a code of a later release', 451, {
    ...{ error: 'under_embargo', message: 'not in this country' },
    details: { reason: 'sanctions', country: 'XX' },
  });
  await later('error: a reason and details of a later release', 409, {
    ...{ error: 'conflict', message: 'the instance sleeps', docs: 'https://docs.example' },
    details: { reason: 'asleep', field: 'If-Match', wakes_at: '2026-01-16T06:00:00.000Z' },
  });
  await later('error: without details', 404, { error: 'not_found', message: 'no such instance' });
}
