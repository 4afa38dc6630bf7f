import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  ACTIONS,
  COMMITMENTS,
  EXPRESSIVENESSES,
  RECOVERY_PATHS,
  RISKS,
  TEMPOS,
} from '#identity/contract';
import {
  contractPrompt,
  type PromptedContract,
  WORDING,
  wordingWith,
} from '#identity/contract-prompt';
import { STRESS_STATES } from '#identity/state';

/** Maximum tokens of a prompt, in both public encodings. */
const TOKENS_MAX = 180;

const CALM: PromptedContract = {
  allowed_actions: ['clarify', 'stabilize', 'execute', 'suggest'],
  forbidden_actions: ['withdraw', 'pivot'],
  decision_style: {
    tempo: 'measured',
    risk: 'cautious',
    expressiveness: 'low',
    commitment_threshold: 'high',
  },
  energy_level: 0.792772,
  stress_state: 'LOW',
  recovery_profile: { preferred_path: 'none', support_required: false, cooldown_required: false },
};

const tokensIn = (text: string) => Math.max(countCl100k(text), countO200k(text));

const text = suite('the prompt of a contract');

text('has a sentence for each part of the contract, and no number', () => {
  assert.is(
    contractPrompt(CALM),
    [
      WORDING.opening,
      'Manner: measured pace; small risks only; few words, plain tone; commit on strong evidence.',
      'Lean to: make things clear, steady what exists. Also fine: propose ideas, carry out changes.',
      'Not now: change course, step back. If the request needs that, say so briefly and offer what is fine.',
    ].join('\n'),
  );
  const strained = { ...CALM, stress_state: 'OVER', energy_level: 0.1 };
  const recovery = { preferred_path: 'rest', support_required: true, cooldown_required: true };
  const all = contractPrompt({ ...strained, recovery_profile: recovery });
  assert.equal(all.split('\n').slice(4), [
    WORDING.stress['OVER'],
    WORDING.exhausted,
    WORDING.recovery['rest'],
    WORDING.support,
    WORDING.cooldown,
  ]);
  assert.not.match(all, /\d/);
});

text('stays the same while only figures or the order of the weaker actions change', () => {
  const shown = contractPrompt(CALM);
  assert.is(contractPrompt({ ...CALM, energy_level: 0.301 }), shown);
  const allowed = ['clarify', 'stabilize', 'suggest', 'execute'];
  assert.is(contractPrompt({ ...CALM, allowed_actions: allowed }), shown);
  const forbidden = CALM.forbidden_actions.toReversed();
  assert.is(contractPrompt({ ...CALM, forbidden_actions: forbidden }), shown);
  const reordered = CALM.allowed_actions.toReversed();
  assert.not.equal(contractPrompt({ ...CALM, allowed_actions: reordered }), shown);
});

text('has a phrase for every value of the vocabularies, in their order', () => {
  assert.equal(Object.keys(WORDING.actions), [...ACTIONS]);
  assert.equal(Object.keys(WORDING.tempo), [...TEMPOS]);
  assert.equal(Object.keys(WORDING.risk), [...RISKS]);
  assert.equal(Object.keys(WORDING.expressiveness), [...EXPRESSIVENESSES]);
  assert.equal(Object.keys(WORDING.commitment), [...COMMITMENTS]);
  assert.equal(Object.keys(WORDING.recovery), [...RECOVERY_PATHS]);
  assert.equal(Object.keys(WORDING.stress), [...STRESS_STATES]);
});

text('leaves out values of a later release', () => {
  const later = {
    ...CALM,
    allowed_actions: ['ponder', ...CALM.allowed_actions, 'toString'],
    forbidden_actions: [...CALM.forbidden_actions, 'dream'],
    decision_style: { ...CALM.decision_style, tempo: 'glacial' },
    stress_state: 'MEH',
  };
  const shown = contractPrompt(CALM).replace('measured pace; ', '');
  assert.is(contractPrompt(later), shown);
});

text('has no empty sentence', () => {
  const bare = { ...CALM, allowed_actions: ['clarify'], forbidden_actions: [] };
  assert.is(contractPrompt(bare).split('\n').at(-1), 'Lean to: make things clear.');
});

text('uses replaced sentences, and the default for all others', () => {
  const german = wordingWith({ leaning: 'Am ehesten: {}.', actions: { clarify: 'Klarheit' } });
  assert.match(contractPrompt(CALM, german), /^Am ehesten: Klarheit, steady what exists\. Also/m);
  assert.is(german.opening, WORDING.opening);
});

text(`has at most ${TOKENS_MAX} tokens for every contract`, () => {
  // The tokens of a text are at most the sum over its lines and separators.
  const longest = (texts: readonly string[]) =>
    texts.reduce((worst, one) => (tokensIn(one) > tokensIn(worst) ? one : worst), '');
  const style = {
    tempo: longest(Object.keys(WORDING.tempo).map((key) => WORDING.tempo[key] ?? '')),
    risk: longest(Object.values(WORDING.risk)),
    expressiveness: longest(Object.values(WORDING.expressiveness)),
    commitment: longest(Object.values(WORDING.commitment)),
  };
  const keyOf = (phrases: Readonly<Record<string, string>>, phrase: string) =>
    Object.keys(phrases).find((key) => phrases[key] === phrase) ?? '';
  let worst = '';
  for (let split = 0; split <= ACTIONS.length; split += 1) {
    const contract = {
      allowed_actions: ACTIONS.slice(0, split),
      forbidden_actions: ACTIONS.slice(split),
      decision_style: {
        tempo: keyOf(WORDING.tempo, style.tempo),
        risk: keyOf(WORDING.risk, style.risk),
        expressiveness: keyOf(WORDING.expressiveness, style.expressiveness),
        commitment_threshold: keyOf(WORDING.commitment, style.commitment),
      },
      energy_level: 0.1,
      stress_state: keyOf(WORDING.stress, longest(Object.values(WORDING.stress))),
      recovery_profile: {
        preferred_path: keyOf(WORDING.recovery, longest(Object.values(WORDING.recovery))),
        support_required: true,
        cooldown_required: true,
      },
    };
    worst = longest([worst, contractPrompt(contract)]);
  }
  assert.ok(tokensIn(worst) <= TOKENS_MAX, `${tokensIn(worst)} tokens:\n${worst}`);
  // All twelve actions and all sentences occur, so no contract is longer.
  for (const phrase of Object.values(WORDING.actions)) assert.ok(worst.includes(phrase), phrase);
});

text.run();
