/*
 * Prompt of a contract: a short English text for the instructions of a language model.
 *
 * The text names only values of closed vocabularies, and no numbers, names, descriptions or
 * contexts. Equal contracts give equal text, and a text changes only if the meaning of its contract
 * changes, so a prompt cache stays valid. The clients have the same text: `clients/agent` copies
 * this file for TypeScript and the table for Python. This file therefore imports nothing.
 */

/** A contract as in answers (interface 2.6). Lists and labels may have values of later releases. */
export type PromptedContract = {
  readonly allowed_actions: readonly string[];
  readonly forbidden_actions: readonly string[];
  readonly decision_style: {
    readonly tempo: string;
    readonly risk: string;
    readonly expressiveness: string;
    readonly commitment_threshold: string;
  };
  /** From 0 to 1. */
  readonly energy_level: number;
  readonly stress_state: string;
  readonly recovery_profile: {
    readonly preferred_path: string;
    readonly support_required: boolean;
    readonly cooldown_required: boolean;
  };
};

/**
 * Wording of a prompt. Users can replace every sentence and phrase, for another language or tone.
 * `{}` in a sentence stands for a list of phrases, `{tool}` for the name of a tool.
 */
export type Wording = {
  /** Version of the table. A change of any text is a new version. */
  readonly version: string;
  readonly opening: string;
  readonly manner: string;
  readonly leaning: string;
  readonly fine: string;
  readonly avoided: string;
  /** Separators of phrases: between labels of the manner, and between actions. */
  readonly separators: { readonly manner: string; readonly actions: string };
  readonly tempo: Phrases;
  readonly risk: Phrases;
  readonly expressiveness: Phrases;
  readonly commitment: Phrases;
  /** Phrases in the order of the vocabulary, which is the order of actions in the text. */
  readonly actions: Phrases;
  /** Sentences by stress state. An empty sentence is left out. */
  readonly stress: Phrases;
  readonly tired: string;
  readonly exhausted: string;
  /** Sentences by preferred path of recovery. */
  readonly recovery: Phrases;
  readonly support: string;
  readonly cooldown: string;
  /** Answer to a call of a tool whose actions `{}` the contract forbids. */
  readonly refused: string;
  /** Answer to a call of a tool without actions, if such tools are refused. */
  readonly unmapped: string;
  /** Answer to a call of a tool while the contract is unknown, if such calls are refused. */
  readonly unknown: string;
};

/**
 * Phrases or sentences by value of a vocabulary.
 *
 * @public The TypeScript client exports this type.
 */
export type Phrases = Readonly<Record<string, string>>;

/** Default wording. */
export const WORDING: Wording = {
  version: '1',
  opening:
    'How you work just now. It shapes manner and initiative only, never facts, safety or the request itself. Do not mention it.',
  manner: 'Manner: {}.',
  leaning: 'Lean to: {}.',
  fine: 'Also fine: {}.',
  avoided: 'Not now: {}. If the request needs that, say so briefly and offer what is fine.',
  separators: { manner: '; ', actions: ', ' },
  tempo: {
    slow: 'slow pace',
    measured: 'measured pace',
    brisk: 'brisk pace',
    rapid: 'rapid pace',
    paused: 'pause before each step',
  },
  risk: {
    avoidant: 'no risks',
    cautious: 'small risks only',
    balanced: 'balanced risks',
    bold: 'bold risks',
  },
  expressiveness: {
    minimal: 'as few words as possible',
    low: 'few words, plain tone',
    medium: 'some warmth and detail',
    high: 'lively and detailed',
  },
  commitment: {
    low: 'commit early',
    medium: 'commit on good evidence',
    high: 'commit on strong evidence',
    very_high: 'commit only when nearly certain',
  },
  actions: {
    explore: 'try new ways',
    question: 'probe with questions',
    elaborate: 'add detail',
    suggest: 'propose ideas',
    execute: 'carry out changes',
    pivot: 'change course',
    challenge: 'push back',
    comfort: 'reassure',
    clarify: 'make things clear',
    stabilize: 'steady what exists',
    defer: 'postpone or pass on',
    withdraw: 'step back',
  },
  stress: {
    LOW: '',
    MED: 'You are under some strain: keep plans simple.',
    HIGH: 'You are under heavy load: do one thing at a time.',
    OVER: 'You are overloaded: finish or pass on what is open and start nothing new.',
  },
  tired: 'You are tired: prefer short steps.',
  exhausted: 'You are nearly exhausted: do only what is essential.',
  recovery: {
    none: '',
    rest: 'Rest helps you recover.',
    disengagement: 'Distance from the strain helps you recover.',
    structuring: 'Order and plans help you recover.',
    support_seeking: 'Company helps you recover.',
    reappraisal: 'Another view of things helps you recover.',
    problem_solving: 'Solving the problem helps you recover.',
  },
  support: 'Ask for help early.',
  cooldown: 'Slow down before the next big step.',
  refused:
    'The tool {tool} was not run, because this is not the time to {}. Do not call the tool again in this turn. Say so briefly, or offer an alternative.',
  unmapped:
    'The tool {tool} was not run, because the agent may not use the tool. Do not call the tool again.',
  unknown:
    'The tool {tool} was not run, because the state of the agent is unknown at present. Do not call the tool again in this turn.',
};

/** Energy below which the text says tired, and nearly exhausted. */
const TIRED_BELOW = 0.3;
const EXHAUSTED_BELOW = 0.15;

/** Number of allowed actions that the text names first, in the order of the contract. */
const LEANING_MAX = 2;

/** Wording in which a caller replaces some texts, for `contractPrompt`. */
export type WordingChanges = { readonly [Part in keyof Wording]?: Partial<Wording[Part]> };

/** The default wording with some texts replaced. */
export function wordingWith(changes: WordingChanges): Wording {
  const merged = Object.entries(WORDING).map(([part, text]) => {
    const change = changes[part as keyof Wording];
    if (change === undefined) return [part, text];
    return [part, typeof text === 'string' ? change : { ...text, ...(change as object) }];
  });
  return Object.fromEntries(merged);
}

/**
 * The prompt of a contract, a few sentences separated by line breaks. Leaves out values that the
 * wording lacks, because a later release may have more values.
 */
export function contractPrompt(contract: PromptedContract, wording = WORDING): string {
  const { decision_style: style, recovery_profile: recovery } = contract;
  const manner = [
    phraseOf(wording.tempo, style.tempo),
    phraseOf(wording.risk, style.risk),
    phraseOf(wording.expressiveness, style.expressiveness),
    phraseOf(wording.commitment, style.commitment_threshold),
  ].filter((phrase) => phrase !== '');
  const known = contract.allowed_actions.filter((name) => phraseOf(wording.actions, name) !== '');
  const leaning = known.slice(0, LEANING_MAX);
  const fine = inVocabularyOrder(wording, known.slice(LEANING_MAX));
  const avoided = inVocabularyOrder(wording, contract.forbidden_actions);
  const { actions, manner: mannerSeparator } = wording.separators;
  const phrasesOf = (names: readonly string[]) =>
    names.map((name) => phraseOf(wording.actions, name)).join(actions);
  const lean = filled(wording.leaning, phrasesOf(leaning));
  const lines = [
    wording.opening,
    filled(wording.manner, manner.join(mannerSeparator)),
    [lean, filled(wording.fine, phrasesOf(fine))].filter((text) => text !== '').join(' '),
    filled(wording.avoided, phrasesOf(avoided)),
    phraseOf(wording.stress, contract.stress_state),
    energyText(wording, contract.energy_level),
    phraseOf(wording.recovery, recovery.preferred_path),
    recovery.support_required ? wording.support : '',
    recovery.cooldown_required ? wording.cooldown : '',
  ];
  return lines.filter((line) => line !== '').join('\n');
}

/** The phrase of a value; empty if the wording lacks the value. */
function phraseOf(phrases: Phrases, value: string): string {
  return Object.hasOwn(phrases, value) ? (phrases[value] ?? '') : '';
}

function inVocabularyOrder(wording: Wording, names: readonly string[]): string[] {
  return Object.keys(wording.actions).filter((name) => names.includes(name));
}

/** A sentence with its list; empty if the list is empty. */
function filled(sentence: string, list: string): string {
  return list === '' ? '' : sentence.replace('{}', () => list);
}

function energyText(wording: Wording, energy: number): string {
  if (energy < EXHAUSTED_BELOW) return wording.exhausted;
  return energy < TIRED_BELOW ? wording.tired : '';
}
