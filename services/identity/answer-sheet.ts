import { ANSWER_MAX, ANSWER_MIN, INVENTORY, type InventoryItem } from '#identity/inventory';
import { MODE_KEYS, type ModeKey } from '#identity/modes';

/** One answer as it was submitted. */
export type Answer = { questionId: string; value: number };

/** Why answers can not be scored; `field` is the JSON path in the request. Source: model 6. */
export type InvalidAnswers =
  | { kind: 'invalid'; reason: AnswerFault; field: string }
  | { kind: 'invalid'; reason: 'too_few_answers'; field: string; mode: ModeKey };

/** What can be wrong with a single answer. */
type AnswerFault = 'unknown_question' | 'duplicate_question' | 'out_of_range';

/** An answered item. */
export type MarkedItem = { item: InventoryItem; value: number };

/** Valid answers in presentation order, whatever order they were sent in. */
export type AnswerSheet = { kind: 'sheet'; marked: readonly MarkedItem[] };

/** Checks `answers`; they may be incomplete as long as every mode was asked both ways. Model 6. */
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
