import { MODE_COUNT, MODE_KEYS, type ModeKey } from '#identity/modes';

/** An inventory statement with its scoring key. The key is never sent to clients. */
export type InventoryItem = {
  id: string;
  mode: ModeKey;
  /** Whether agreement with the statement is evidence against the mode. */
  isReversed: boolean;
  text: string;
};

/** A question for respondents, without mode and direction. Source: model 6. */
type Question = {
  id: string;
  /** Number in presentation order, from 1. */
  position: number;
  text: string;
};

/** Version of the items, the key and the scoring. Source: model 6. */
export const INVENTORY_VERSION = '1.0';

/** The inventory's published name. Source: model 6. */
export const INVENTORY_ID = 'mode_inventory';

/** Instructions for respondents. Source: model 6. */
export const INVENTORY_INSTRUCTIONS =
  'How accurately does each statement describe you (or the agent you describe) at present?';

/** Lowest answer. Source: model 6. */
export const ANSWER_MIN = 1;
/** Highest answer. Source: model 6. */
export const ANSWER_MAX = 5;
/** One label per answer, lowest first. Source: model 6. */
export const ANSWER_LABELS = [
  'very inaccurate',
  'rather inaccurate',
  'neither',
  'rather accurate',
  'very accurate',
] as const;

/**
 * The 35 statements in presentation order. Neighbours belong to different modes.
 *
 * Each mode has three statements in its favour (`+`) and two against it (`-`). Source: model 6.
 */
const STATEMENTS: readonly (readonly [direction: '+' | '-', text: string])[] = [
  ['+', 'Before I answer, I look for the fact that does not fit.'],
  ['-', 'I would sooner repeat what worked last time than try another way.'],
  ['+', 'I split a job into steps and mark each one when it is done.'],
  ['-', 'I let a point go rather than argue for it.'],
  ['+', 'I adapt how I talk to how the other person is doing.'],
  ['-', 'Who I am depends a lot on the company I am in.'],
  ['+', 'A run of setbacks stays with me long after it has ended.'],
  ['-', 'Once I have the rough picture, I stop looking at particulars.'],
  ['+', 'Given a known route and an untested one, I lean to the untested one.'],
  ['-', 'My working area, real or digital, tends to fill with loose ends.'],
  ['+', 'When a group is stuck, I am the one to propose a decision.'],
  ['-', "While there is work to do, other people's moods are not my concern."],
  ['+', 'I can name the few principles I would not trade away.'],
  ['-', 'After a shock I am soon back to my normal self.'],
  ['+', 'I notice small shifts in wording that others let pass.'],
  ['-', 'Questions without a clear answer lose my interest soon.'],
  ['+', 'At any time I could say what is finished and what is still open.'],
  ['-', 'I wait until somebody else makes the first move.'],
  ['+', 'After a hard conversation I go back to see how the other is.'],
  ['-', 'What matters most to me is different from one week to the next.'],
  ['+', 'When several things go wrong at once, an inner alarm goes off.'],
  ['-', 'I often learn late that I overlooked something in plain view.'],
  ['+', 'I keep a few unlikely ideas alive just to see where they lead.'],
  ['-', 'I start the next thing before the last one is wrapped up.'],
  ['+', 'I state my view plainly even if the room leans the other way.'],
  ['-', 'I keep exchanges to business and leave the personal side out.'],
  ['+', 'People who know me from different places would describe the same character.'],
  ['-', 'When a plan collapses, my thinking stays clear.'],
  ['+', 'I ask where a claim comes from before I build on it.'],
  ['+', 'A task with no fixed outline gives me energy.'],
  ['+', 'I keep to an agreed procedure even if nobody would notice.'],
  ['+', 'I object openly when a request seems wrong to me.'],
  ['+', 'I prefer working something out together over doing it alone.'],
  ['+', 'When I am pushed to fit in, I still act by my own values.'],
  ['+', 'A tight deadline makes me jumpy or makes me shut down.'],
];

/** Inventory items with their keys. Source: model 6. */
export const INVENTORY: readonly InventoryItem[] = STATEMENTS.map(([direction, text], index) => ({
  id: `q${String(index + 1).padStart(2, '0')}`,
  mode: MODE_KEYS[index % MODE_COUNT] as ModeKey,
  isReversed: direction === '-',
  text,
}));

/** The inventory's public view. Source: model 6. */
export const QUESTIONS: readonly Question[] = INVENTORY.map(({ id, text }, index) => ({
  id,
  position: index + 1,
  text,
}));

/** A submitted answer. */
export type Answer = { questionId: string; value: number };

/**
 * Reason why answers cannot be scored. `field` is the JSON path in the request. Source: model 6.
 */
export type InvalidAnswers =
  | { kind: 'invalid'; reason: AnswerFault; field: string }
  | { kind: 'invalid'; reason: 'too_few_answers'; field: string; mode: ModeKey };

/** Error in a single answer. */
type AnswerFault = 'unknown_question' | 'duplicate_question' | 'out_of_range';

/** An answered item. */
export type MarkedItem = { item: InventoryItem; value: number };

/** Valid answers in presentation order, whatever the submission order. */
export type AnswerSheet = { kind: 'sheet'; marked: readonly MarkedItem[] };

/**
 * Validates `answers`. Answers may be missing, but each mode needs a forward and a reversed item.
 * Source: model 6.
 */
export function readAnswers(answers: readonly Answer[]): AnswerSheet | InvalidAnswers {
  const values = new Map<string, number>();
  for (const [index, { questionId, value }] of answers.entries()) {
    const field = `answers[${index}]`;
    if (!INVENTORY.some((item) => item.id === questionId)) {
      return invalid('unknown_question', `${field}.question_id`);
    }
    if (values.has(questionId)) return invalid('duplicate_question', `${field}.question_id`);
    if (!Number.isInteger(value) || value < ANSWER_MIN || value > ANSWER_MAX) {
      return invalid('out_of_range', `${field}.value`);
    }
    values.set(questionId, value);
  }
  const marked = INVENTORY.flatMap((item) => {
    const value = values.get(item.id);
    return value === undefined ? [] : [{ item, value }];
  });
  const mode = MODE_KEYS.find((key) => !isAskedBothWays(marked, key));
  if (mode === undefined) return { kind: 'sheet', marked };
  return { kind: 'invalid', reason: 'too_few_answers', field: 'answers', mode };
}

function isAskedBothWays(marked: readonly MarkedItem[], mode: ModeKey): boolean {
  const ofMode = marked.filter(({ item }) => item.mode === mode);
  return ofMode.some(({ item }) => item.isReversed) && ofMode.some(({ item }) => !item.isReversed);
}

function invalid(reason: AnswerFault, field: string): InvalidAnswers {
  return { kind: 'invalid', reason, field };
}
