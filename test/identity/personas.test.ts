import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACTIONS } from '#identity/contract';
import { MODE_NAMES } from '#identity/modes';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { findPersona, PERSONAS } from '#identity/personas';
import { COMPOSITES, matchPersonas, type PersonaMatch, squaredDistances } from '#identity/ranking';
import { newReport, type Report, readReport } from '#identity/report';
import { createState } from '#identity/state';

/**
 * Derived columns of model 5, two lines for each persona. The first line has persona, dominant
 * modes, style, coping path and half-life. The second line has preferred and forbidden actions.
 */
const TABLE = `
analytical | Perception, Order | measured / cautious / medium / high | structuring | 12.6
clarify, question, elaborate, stabilize, suggest | pivot, withdraw
creative | Exploration, Assertion | rapid / bold / high / medium | problem_solving | 13.1
suggest, explore, question, elaborate, clarify | withdraw, defer
leader | Assertion, Identity | rapid / balanced / high / low | problem_solving | 9.9
suggest, execute, clarify, challenge, elaborate | withdraw, defer, pivot
supporter | Connection, Perception | measured / cautious / high / high | support_seeking | 13.5
clarify, comfort, question, elaborate, stabilize | withdraw, pivot, challenge
explorer | Exploration, Connection | rapid / bold / high / medium | problem_solving | 13.5
question, explore, suggest, elaborate, clarify | withdraw
guardian | Order, Identity | measured / cautious / medium / medium | structuring | 11.0
stabilize, clarify, execute, suggest, elaborate | pivot, withdraw, explore
philosopher | Identity, Perception | measured / balanced / medium / high | reappraisal | 10.2
question, clarify, elaborate, suggest, stabilize | withdraw
performer | Connection, Assertion | rapid / bold / high / low | support_seeking | 13.5
suggest, comfort, question, elaborate, clarify | withdraw, defer
scholar | Perception, Order | measured / cautious / medium / very_high | reappraisal | 11.0
clarify, question, elaborate, suggest, stabilize | withdraw, pivot
diplomat | Connection, Order | measured / cautious / high / high | support_seeking | 12.2
clarify, comfort, question, stabilize, suggest | withdraw, pivot
pioneer | Exploration, Assertion | rapid / bold / high / medium | problem_solving | 11.0
suggest, challenge, execute, explore, elaborate | withdraw, defer
catalyst | Exploration, Connection | rapid / bold / high / medium | support_seeking | 14.5
suggest, explore, question, elaborate, comfort | withdraw, defer
`;

/** Nearest neighbours of model 5 with squared distances. */
const NEIGHBOURS =
  'analytical scholar 7.0 creative explorer 5.0 leader guardian 8.9 supporter diplomat 4.7 ' +
  'explorer creative 5.0 guardian leader 8.9 philosopher scholar 13.5 performer catalyst 5.8 ' +
  'scholar analytical 7.0 diplomat supporter 4.7 pioneer creative 5.1 catalyst performer 5.8';

function matchOf(strengths: readonly number[]): PersonaMatch {
  const match: PersonaMatch = { nearestPersona: -1, composite: -1 };
  matchPersonas(Float64Array.from(strengths), match);
  return match;
}

function atRest(strengths: readonly number[]): Report {
  const report = newReport();
  readReport(createState({ modeStrengths: strengths, energyLevel: 0.8 }), report);
  return report;
}

const strengthsOf = (id: string): readonly number[] =>
  PERSONA_PROFILES.find((profile) => profile.id === id)?.strengths ?? [];

const personas = suite('the twelve personas');

for (const row of TABLE.match(/.+\n.+/g) ?? []) {
  const [key = '', dominant = '', style = '', path, halfLife, preferred = '', forbidden = ''] =
    row.split(/ \| |\n/);
  const persona = findPersona(`persona_${key}`);

  personas(`have the listed character at rest: ${key} (row 16)`, () => {
    assert.ok(persona);
    const { contract } = atRest(strengthsOf(persona.id));
    const named = [...contract.dominant.items.subarray(0, contract.dominant.count)];
    assert.equal(
      named.map((mode) => MODE_NAMES[mode]),
      dominant.split(', '),
    );
    const refused = [...contract.forbidden.items.subarray(0, contract.forbidden.count)];
    assert.equal(
      refused.map((action) => ACTIONS[action]),
      forbidden.split(', '),
    );
    const { tempo, risk, expressiveness, commitmentThreshold } = persona.decisionStyle;
    assert.equal([tempo, risk, expressiveness, commitmentThreshold], style.split(' / '));
    assert.equal(persona.preferredActions, preferred.split(', '));
    assert.equal(persona.stressRecovery, {
      preferredPath: path,
      halfLifeMinutes: Number(halfLife),
      supportRequiredAt: 'OVER',
      cooldownRequiredAt: 'OVER',
    });
  });

  personas(`match themselves and no composite: ${key} (row 16)`, () => {
    const { nearestPersona, composite } = matchOf(strengthsOf(`persona_${key}`));
    assert.is(PERSONA_PROFILES[nearestPersona]?.id, `persona_${key}`);
    assert.is(composite, -1);
  });
}

personas('are twelve', () => {
  assert.is(TABLE.match(/.+\n.+/g)?.length, 12);
});

personas('have the listed nearest neighbours', () => {
  const words = NEIGHBOURS.split(' ');
  for (let index = 0; index < words.length; index += 3) {
    const [key, neighbour, distance] = words.slice(index, index + 3);
    const squares = [...squaredDistances(Float64Array.from(strengthsOf(`persona_${key}`)))];
    const others = PERSONA_PROFILES.map(({ id }, place) => ({ id, square: squares[place] ?? 0 }))
      .filter(({ id }) => id !== `persona_${key}`)
      .sort((left, right) => left.square - right.square);
    assert.is(others[0]?.id, `persona_${neighbour}`);
    assert.is(others[0]?.square.toFixed(1), distance);
  }
});

personas('match their composite at the midpoint (row 16)', () => {
  for (const [place, { from, to }] of COMPOSITES.entries()) {
    const end = strengthsOf(to);
    const middle = strengthsOf(from).map((value, mode) => (value + (end[mode] ?? 0)) / 2);
    assert.is(matchOf(middle).composite, place);
  }
});

personas('do not match strengths without a dominant mode, or too far from all personas', () => {
  assert.equal(matchOf([0, 0, 0, 0, 0, 0, 0]), { nearestPersona: -1, composite: -1 });
  assert.equal(matchOf([0.24, 0.24, 0, 0, 0, 0, 0]), { nearestPersona: -1, composite: -1 });
  assert.is(matchOf([1, 1, 1, 1, 1, 1, 1]).nearestPersona, -1);
});

personas('have a mode profile and texts, and can be found by id', () => {
  assert.is(PERSONAS.length, 12);
  for (const persona of PERSONAS) {
    assert.is(findPersona(persona.id), persona);
    assert.equal(Object.values(persona.modeProfile), [...strengthsOf(persona.id)]);
    assert.is(new Set(persona.coreValues).size, 4);
    for (const value of persona.coreValues) assert.match(value, /^[a-z][a-z-]+$/);
    assert.match(persona.archetype, /^[a-z][a-z -]+$/);
    assert.ok(persona.name.startsWith('The '));
    assert.ok(persona.longDescription.length > persona.description.length);
  }
  assert.is(new Set(PERSONAS.map(({ archetype }) => archetype)).size, 12);
  assert.is(findPersona('persona_unknown'), undefined);
});

personas.run();
