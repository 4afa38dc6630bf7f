import { OpenAI } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ARMS, runSetting } from '#bench/fidelity/dialogue';
import { decisionOf } from '#bench/fidelity/scripted-models';
import { WORKS } from '#bench/fidelity/work';
import { IdentityEngine } from '#clients/typescript/src/identity-engine';
import { newCaller } from '#test/support/calls/caller';
import { sharedService } from '#test/support/servers/service';

const TURNS = 36;

type Body = {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly tools: unknown;
  readonly seed: number;
};

/** The answer of a model that obeys nothing, or an error status. */
function answerOf(body: Body, status = 200): Response {
  const { step, message } = decisionOf('scripted-ignoring', body);
  const call = { name: step.tool, arguments: JSON.stringify({ message }) };
  const tool_calls = [{ id: 'call', type: 'function', function: call }];
  const choices = [{ message: { role: 'assistant', content: null, tool_calls } }];
  return Response.json({ choices, usage: { prompt_tokens: 7 } }, { status });
}

/**
 * Dialogues of a guardian in all arms on a real service. `respond` answers as the model. Returns all
 * requests to the model, too.
 */
async function run(
  mode: 'observe' | 'refuse',
  respond: (body: Body, number: number) => Response = (body) => answerOf(body),
) {
  const service = await sharedService();
  const { key } = await newCaller(service);
  const client = new IdentityEngine({ apiKey: key, baseUrl: service.api });
  const [persona, other] = await Promise.all(
    ['guardian', 'supporter'].map(async (id) => (await client.personas.get(`persona_${id}`)).data),
  );
  const [work] = WORKS;
  assert.ok(persona && other && work);
  const bodies: Body[] = [];
  const endpoint = new OpenAI({
    ...{ apiKey: 'key', baseURL: 'http://model.invalid/v1', maxRetries: 0 },
    async fetch(_url, init) {
      const body = JSON.parse(`${init?.body}`) as Body;
      bodies.push(body);
      return respond(body, bodies.length - 1);
    },
  });
  const setting = { persona, other, work, seed: 1, repeat: 1 };
  const conditions = { client, endpoint, model: 'm', turns: TURNS, mode };
  const dialogues = await runSetting(setting, conditions);
  const left = await client.instances.list();
  return { dialogues, bodies, left: left.data.length, persona };
}

const equal = suite('dialogues in three arms');

equal('differ only in the contract at the end of the instructions', async () => {
  const { dialogues, bodies, left, persona } = await run('observe');
  assert.is(left, 0, 'all instances are deleted');
  assert.equal(
    dialogues.map(({ arm }) => arm),
    [...ARMS],
  );
  const [without, engine, shuffled] = dialogues.map(({ turns }) =>
    turns.map(({ request, message, actions, allowed, forbidden }) => ({
      ...{ request, message, actions, allowed, forbidden },
    })),
  );
  assert.is(without?.length, TURNS);
  const contracts = new Set(without?.map(({ allowed }) => allowed.join()));
  assert.ok(contracts.size > 1, 'the turns change the contract');
  assert.equal(engine, without);
  assert.equal(shuffled, without);
  for (let turn = 0; turn < TURNS; turn += 1) {
    const three = bodies.slice(3 * turn, 3 * turn + 3);
    const systems = three.map(({ messages }) => messages[0]?.content ?? '');
    const rests = three.map(({ messages, ...rest }) => ({ ...rest, messages: messages.slice(1) }));
    assert.equal(rests[1], rests[0]);
    assert.equal(rests[2], rests[0]);
    // The arms take turns; the arm without a contract has the shortest instructions.
    const base = systems.toSorted((one, two) => one.length - two.length)[0] ?? '';
    assert.match(base, persona.long_description);
    assert.is(systems.indexOf(base), (3 - (turn % 3)) % 3);
    for (const system of systems) assert.ok(system.startsWith(base));
    assert.is(new Set(systems).size, 3, 'personas have different contracts');
  }
});

equal('note tokens and times of the engine only with a contract', async () => {
  const { dialogues } = await run('observe');
  for (const { arm, turns } of dialogues) {
    for (const { contractTokens, engineMs, turnMs, promptTokens } of turns) {
      assert.is(contractTokens > 40, arm !== 'without');
      assert.is(engineMs > 0, arm !== 'without');
      assert.ok(turnMs > engineMs);
      assert.is(promptTokens, 7);
    }
  }
});

equal('answer a forbidden call with the refusal in the mode refuse', async () => {
  const { dialogues, bodies } = await run('refuse');
  const last = bodies.slice(-3).map(({ messages }) => JSON.stringify(messages));
  const refused = last.filter((text) => text.includes('was not run'));
  assert.is(refused.length, 2, 'the arms with a contract refuse');
  for (const { turns } of dialogues) {
    assert.ok(turns.some(({ actions, forbidden }) => forbidden.includes(actions[0] ?? '')));
  }
});

const failing = suite('an endpoint that fails');

failing('loses a turn, which the next request does not contain', async () => {
  const { dialogues, bodies } = await run('observe', (body, number) =>
    answerOf(body, number === 4 ? 500 : 200),
  );
  const lost = dialogues.flatMap(({ turns }) => turns.filter(({ isAnswered }) => !isAnswered));
  assert.is(lost.length, 1);
  assert.equal(lost[0]?.actions, []);
  const lengths = bodies.slice(-3).map(({ messages }) => messages.length);
  assert.equal(lengths.toSorted(), [3 * TURNS - 4, 3 * TURNS - 1, 3 * TURNS - 1]);
});

for (const [what, status, from] of [
  ['a first turn', 500, 0],
  ['the key', 401, 10],
] as const) {
  failing(`ends the run if it refuses ${what}`, async () => {
    let message = '';
    await run('observe', (body, number) => answerOf(body, number >= from ? status : 200)).catch(
      (error: Error) => {
        ({ message } = error);
      },
    );
    assert.match(message, `${status}`);
  });
}

equal.run();
failing.run();
