import type { ModeKey } from '#identity/modes';

/** One statement of the inventory together with its key, which never leaves the service. */
export type InventoryItem = {
  id: string;
  mode: ModeKey;
  /** Whether agreeing speaks against the mode. */
  isReversed: boolean;
  text: string;
};

/** A question as a respondent sees it: without mode and direction. Source: model 6. */
export type Question = {
  id: string;
  /** Place in presentation order, from 1. */
  position: number;
  text: string;
};

/** Version of items, key and scoring together. Source: model 6. */
export const INVENTORY_VERSION = '1.0';

/** Name under which the inventory is published. Source: model 6. */
export const INVENTORY_ID = 'mode_inventory';

/** What a respondent is asked to do. Source: model 6. */
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
 * The 35 items in presentation order: three forward and two reversed ones per mode, interleaved so
 * that neighbours never share a mode. Source: model 6.
 */
export const INVENTORY: readonly InventoryItem[] = [
  item('q01', 'perception', '+', 'Before I answer, I look for the fact that does not fit.'),
  item(
    'q02',
    'exploration',
    '-',
    'I would sooner repeat what worked last time than try another way.',
  ),
  item('q03', 'order', '+', 'I split a job into steps and mark each one when it is done.'),
  item('q04', 'assertion', '-', 'I let a point go rather than argue for it.'),
  item('q05', 'connection', '+', 'I adapt how I talk to how the other person is doing.'),
  item('q06', 'identity', '-', 'Who I am depends a lot on the company I am in.'),
  item('q07', 'stress_response', '+', 'A run of setbacks stays with me long after it has ended.'),
  item('q08', 'perception', '-', 'Once I have the rough picture, I stop looking at particulars.'),
  item(
    'q09',
    'exploration',
    '+',
    'Given a known route and an untested one, I lean to the untested one.',
  ),
  item('q10', 'order', '-', 'My working area, real or digital, tends to fill with loose ends.'),
  item('q11', 'assertion', '+', 'When a group is stuck, I am the one to propose a decision.'),
  item(
    'q12',
    'connection',
    '-',
    "While there is work to do, other people's moods are not my concern.",
  ),
  item('q13', 'identity', '+', 'I can name the few principles I would not trade away.'),
  item('q14', 'stress_response', '-', 'After a shock I am soon back to my normal self.'),
  item('q15', 'perception', '+', 'I notice small shifts in wording that others let pass.'),
  item('q16', 'exploration', '-', 'Questions without a clear answer lose my interest soon.'),
  item('q17', 'order', '+', 'At any time I could say what is finished and what is still open.'),
  item('q18', 'assertion', '-', 'I wait until somebody else makes the first move.'),
  item('q19', 'connection', '+', 'After a hard conversation I go back to see how the other is.'),
  item('q20', 'identity', '-', 'What matters most to me is different from one week to the next.'),
  item(
    'q21',
    'stress_response',
    '+',
    'When several things go wrong at once, an inner alarm goes off.',
  ),
  item('q22', 'perception', '-', 'I often learn late that I overlooked something in plain view.'),
  item('q23', 'exploration', '+', 'I keep a few unlikely ideas alive just to see where they lead.'),
  item('q24', 'order', '-', 'I start the next thing before the last one is wrapped up.'),
  item('q25', 'assertion', '+', 'I state my view plainly even if the room leans the other way.'),
  item('q26', 'connection', '-', 'I keep exchanges to business and leave the personal side out.'),
  item(
    'q27',
    'identity',
    '+',
    'People who know me from different places would describe the same character.',
  ),
  item('q28', 'stress_response', '-', 'When a plan collapses, my thinking stays clear.'),
  item('q29', 'perception', '+', 'I ask where a claim comes from before I build on it.'),
  item('q30', 'exploration', '+', 'A task with no fixed outline gives me energy.'),
  item('q31', 'order', '+', 'I keep to an agreed procedure even if nobody would notice.'),
  item('q32', 'assertion', '+', 'I object openly when a request seems wrong to me.'),
  item('q33', 'connection', '+', 'I prefer working something out together over doing it alone.'),
  item('q34', 'identity', '+', 'When I am pushed to fit in, I still act by my own values.'),
  item('q35', 'stress_response', '+', 'A tight deadline makes me jumpy or makes me shut down.'),
];

/** The public view of the inventory. Source: model 6. */
export const QUESTIONS: readonly Question[] = INVENTORY.map(({ id, text }, index) => ({
  id,
  position: index + 1,
  text,
}));

function item(id: string, mode: ModeKey, direction: '+' | '-', text: string): InventoryItem {
  return { id, mode, isReversed: direction === '-', text };
}
