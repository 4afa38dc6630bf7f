import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MODE_KEYS } from '#identity/modes';
import { assertRefused, limitOf, sharedScene } from '#test/support/calls/scene';

const { caller } = await sharedScene();
const submit = (json: unknown, headers: Record<string, string> = {}) =>
  caller.send('POST', '/test/submit', { json, headers });

/** The mode that a question is about: modes alternate in order. Source: model 6. */
const modeOf = (position: number) => MODE_KEYS[position % 7] ?? '';
/** Positions (from 0) at which items are reverse-scored. Source: model 6. */
const REVERSED = new Set([2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28].map((n) => n - 1));

const answersWith = (valueAt: (position: number) => number) =>
  Array.from({ length: 35 }, (_, position) => ({
    question_id: `q${String(position + 1).padStart(2, '0')}`,
    value: valueAt(position),
  }));
/** Answers that fully agree with statements about `high` modes, and reject `low` modes. */
const profile = (high: readonly string[], low: readonly string[]) =>
  answersWith((position) => {
    const mode = modeOf(position);
    const isReversed = REVERSED.has(position);
    if (high.includes(mode)) return isReversed ? 1 : 5;
    if (low.includes(mode)) return isReversed ? 5 : 1;
    return 3;
  });

const accepted = suite('a submitted test');

accepted('with two high and two low modes is answered 200 with strengths and scores', async () => {
  const high = ['assertion', 'identity'];
  const low = ['connection', 'stress_response'];
  const answer = await submit({ version: '1.0', answers: profile(high, low) });
  assert.is(answer.status, 200);
  const { data } = answer.body;
  assert.equal(data.quality.verdict, 'ok');
  assert.equal(data.quality.flags, []);
  for (const mode of MODE_KEYS) {
    const expected = high.includes(mode) ? 1 : low.includes(mode) ? 0 : 0.5;
    assert.is(data.mode_strengths[mode], expected, mode);
    assert.is(data.scores[mode], 1 + 4 * expected, mode);
  }
  assert.equal(data.dominant_modes, ['Assertion', 'Identity']);
  assert.is(data.nearest_personas.length, 3);
  assert.is(data.nearest_personas[0].id, 'persona_leader');
  assert.equal(data.initial_config, { mode_strengths: data.mode_strengths, energy_level: 0.8 });
});

accepted('without its version gets the same answer', async () => {
  const answers = profile(['order'], ['exploration']);
  assert.is((await submit({ answers })).text, (await submit({ version: '1.0', answers })).text);
});

accepted('in any order is answered with the same scores', async () => {
  const answers = profile(['order'], ['exploration']);
  const turned = (await submit({ answers: answers.toReversed() })).body.data;
  assert.equal(turned.scores, (await submit({ answers })).body.data.scores);
});

accepted('returns a configuration that a create accepts unchanged', async () => {
  const answers = profile(['order', 'identity'], ['exploration']);
  const { initial_config } = (await submit({ answers })).body.data;
  const id = await caller.createInstance({ initial_config });
  const snapshot = (await caller.send('GET', `/instances/${id}/snapshot`)).body.data;
  assert.equal(snapshot.mode_strengths, initial_config.mode_strengths);
  assert.is(snapshot.energy_level, 0.8);
});

accepted('with the same answer everywhere is answered 200 and marked invalid', async () => {
  const { data } = (await submit({ answers: answersWith(() => 3) })).body;
  assert.is(data.quality.verdict, 'invalid');
  assert.is(data.quality.longest_run, 35);
  assert.is(data.quality.response_sd, 0);
  assert.ok(data.quality.flags.includes('straightlining'));
});

accepted('with missing answers is answered 200 and flagged', async () => {
  const answers = profile(['order'], ['exploration']).slice(0, 28);
  const { data } = (await submit({ answers })).body;
  assert.ok(data.quality.flags.includes('missing_answers'));
  assert.is(data.quality.verdict, 'caution');
});

accepted(
  'is not stored: the same answers give the same bytes, without cycle or replay',
  async () => {
    const answers = profile(['connection'], ['order']);
    const headers = { 'idempotency-key': 'test-submit-key' };
    const first = await submit({ answers }, headers);
    const second = await submit({ answers }, headers);
    const other = await submit({ answers: profile(['order'], []) }, headers);
    assert.is(first.text, second.text);
    assert.is(second.headers.get('idempotent-replayed'), null);
    assert.is(other.status, 200);
    assert.is(limitOf(second, 'remaining'), limitOf(first, 'remaining') - 1);
    assert.is(limitOf(second, 'monthly'), limitOf(first, 'monthly'));
  },
);

const refused = suite('a submitted test that breaks a rule');
const all = answersWith(() => 3);
const withAnswer = (answer: object) => ({ answers: [...all.slice(0, 34), answer] });
const withValue = (value: unknown) => withAnswer({ question_id: 'q35', value });
const VALUE_OUT_OF_RANGE = { field: 'answers[34].value', reason: 'out_of_range' };
const without = (...positions: number[]) => ({
  answers: all.filter((_, position) => !positions.includes(position)),
});
const modePositions = (mode: string) =>
  Array.from({ length: 35 }, (_, position) => position).filter((at) => modeOf(at) === mode);

const WRONG: readonly [what: string, body: unknown, details: Record<string, string>][] = [
  ['no answers', {}, { field: 'answers', reason: 'missing_field' }],
  [
    'another version',
    { version: '2.0', answers: all },
    { field: 'version', reason: 'unknown_value' },
  ],
  [
    'an unknown question',
    withAnswer({ question_id: 'q99', value: 3 }),
    { field: 'answers[34].question_id', reason: 'unknown_question' },
  ],
  [
    'a question answered twice',
    withAnswer({ question_id: 'q01', value: 3 }),
    { field: 'answers[34].question_id', reason: 'duplicate_question' },
  ],
  ['a value of 6', withValue(6), VALUE_OUT_OF_RANGE],
  ['a value of 0', withValue(0), VALUE_OUT_OF_RANGE],
  ['a value of 2.5', withValue(2.5), VALUE_OUT_OF_RANGE],
  ['a value as text', withValue('3'), { field: 'answers[34].value', reason: 'wrong_type' }],
  [
    'an unknown field of an answer',
    withAnswer({ question_id: 'q35', value: 3, note: '' }),
    { field: 'answers[34].note', reason: 'unknown_field' },
  ],
  [
    '36 answers',
    { answers: [...all, { question_id: 'q01', value: 1 }] },
    { field: 'answers', reason: 'too_long' },
  ],
  [
    'no answer at all',
    { answers: [] },
    { field: 'answers', reason: 'too_few_answers', mode: 'perception' },
  ],
  [
    'no answer for a mode',
    without(...modePositions('connection')),
    { field: 'answers', reason: 'too_few_answers', mode: 'connection' },
  ],
  [
    'no reversed answer for a mode',
    without(...modePositions('order').filter((at) => REVERSED.has(at))),
    { field: 'answers', reason: 'too_few_answers', mode: 'order' },
  ],
];

for (const [what, body, details] of WRONG) {
  refused(`with ${what} is answered 422 with ${details['reason']}`, async () => {
    assertRefused(await submit(body), 422, 'invalid_request', details);
  });
}

for (const each of [accepted, refused]) each.run();
