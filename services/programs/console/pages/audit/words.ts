import type { AuditRow } from '#console/answers';
import { inWords } from '#pages/parts/format';

/** Words for an action: infinitive and past. `…` stands for the target, if the text names it. */
type Words = readonly [infinitive: string, past: string];

/** Words by action, in groups of the filter. The first word of an action names its group. */
const GROUPS: readonly (readonly [
  title: string,
  prefix: string,
  Readonly<Record<string, Words>>,
])[] = [
  [
    'Keys',
    'key',
    {
      create: ['create the key …', 'created the key …'],
      rename: ['rename the key …', 'renamed the key …'],
      scope: ['change the scope of the key …', 'changed the scope of the key …'],
      rotate: ['rotate the key …', 'rotated the key …'],
      disable: ['disable the key …', 'disabled the key …'],
      enable: ['enable the key …', 'enabled the key …'],
      revoke: ['revoke the key …', 'revoked the key …'],
    },
  ],
  [
    'Instances',
    'instance',
    {
      create: ['create the instance …', 'created the instance …'],
      update: ['change the instance …', 'changed the instance …'],
      reset: ['reset the instance …', 'reset the instance …'],
      fork: ['fork the instance …', 'forked the instance …'],
      delete: ['delete the instance …', 'deleted the instance …'],
    },
  ],
  [
    'Demonstration',
    'demo',
    {
      load: ['load the demonstration', 'loaded the demonstration'],
      remove: ['remove the demonstration', 'removed the demonstration'],
    },
  ],
  [
    'Webhooks',
    'webhook',
    {
      create: ['create the webhook …', 'created the webhook …'],
      update: ['change the webhook …', 'changed the webhook …'],
      rotate: ['replace the secret of the webhook …', 'replaced the secret of the webhook …'],
      redeliver: ['send changes again to the webhook …', 'sent changes again to the webhook …'],
      pause: ['pause the webhook …', 'paused the webhook …'],
      delete: ['delete the webhook …', 'deleted the webhook …'],
    },
  ],
  [
    'Members',
    'member',
    {
      invite: ['invite …', 'invited …'],
      uninvite: ['withdraw the invitation of …', 'withdrew the invitation of …'],
      join: ['join the account', 'joined the account'],
      role: ['change the role of …', 'changed the role of …'],
      remove: ['remove the member …', 'removed the member …'],
    },
  ],
  [
    'Sessions',
    'session',
    {
      begin: ['sign in', 'signed in'],
      fail: ['sign in as …', 'signed in as …'],
      second_factor: ['enter a code', 'entered a code of the second factor'],
      switch: ['switch to this account', 'switched to this account'],
      end: ['sign out or end a session', 'ended a session'],
    },
  ],
  [
    'Passwords and second factors',
    'user',
    {
      password: ['change the own password', 'changed the own password'],
      second_factor_enrol: ['begin to set up a second factor', 'began to set up a second factor'],
      second_factor_confirm: ['enable the second factor', 'enabled the second factor'],
      second_factor_disable: ['disable the second factor', 'disabled the second factor'],
      recovery_codes: ['create recovery codes', 'created recovery codes'],
    },
  ],
  [
    'Account',
    'account',
    {
      create: ['create the account', 'created the account'],
      import: ['import the account', 'imported the account'],
      set_up: ['set up the console', 'set up the console'],
      setup_link: ['create a set-up link', 'created a set-up link'],
      plan: ['change the plan', 'changed the plan'],
      status: ['change the status of the account', 'changed the status of the account'],
      model: ['change the model version', 'changed the model version'],
      retention: ['change the retention', 'changed the retention'],
      delete: ['delete the account', 'deleted the account'],
    },
  ],
  [
    'Billing',
    'billing',
    {
      checkout: ['open a page to buy a plan', 'opened a page to buy a plan'],
      portal: ['open the page of the payment provider', 'opened the page of the payment provider'],
    },
  ],
  ['Bought plan', 'plan', { change: ['change the bought plan', 'changed the bought plan'] }],
  ['Usage', 'usage', { reset: ['reset the usage', 'reset the usage'] }],
  ['History', 'history', { trim: ['delete old history of …', 'deleted old history of …'] }],
  [
    'Audit trail',
    'audit',
    {
      export: ['export the audit trail', 'exported the audit trail'],
      erase: ['erase old months of the audit trail', 'erased old months of the audit trail'],
    },
  ],
];

const WORDS: ReadonlyMap<string, Words> = new Map(
  GROUPS.flatMap(([, prefix, actions]) =>
    Object.entries(actions).map(([name, words]) => [`${prefix}.${name}`, words] as const),
  ),
);

/** A choice of the filter for actions: value of the query, and text. */
type Choice = readonly [value: string, text: string];

/** Choices of the filter for actions, in groups. A group of several actions begins with all of them. */
export const ACTION_GROUPS: readonly {
  readonly title: string;
  readonly choices: readonly Choice[];
}[] = GROUPS.map(([title, prefix, actions]) => {
  const choices = Object.entries(actions).map(
    ([name, [infinitive]]): Choice => [`${prefix}.${name}`, labelOf(infinitive)],
  );
  const all: Choice = [prefix, `All: ${title.toLowerCase()}`];
  return { title, choices: choices.length > 1 ? [all, ...choices] : choices };
});

/** Label of an action without a target: `Revoke a key`. */
function labelOf(infinitive: string): string {
  const text = infinitive
    .replace(/the (key|webhook|member) …$/, 'a $1')
    .replace('the instance …', 'an instance')
    .replace('…', 'a member');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Sentence of an action, in parts around actor and target. */
type Sentence = { readonly verb: string; readonly isTargeted: boolean; readonly end: string };

/**
 * Words of a row after the actor: `revoked the key …`, or `tried to revoke the key …` if the action
 * did not succeed. Actions of later releases appear with their names.
 */
export function sentenceOf(row: AuditRow): Sentence {
  const { action, result, target } = row;
  const words = WORDS.get(action);
  if (words === undefined) {
    return { verb: `did ${inWords(action)}`, isTargeted: target !== undefined, end: '' };
  }
  const [infinitive, past] = words;
  const text = isSuccess(result) ? (endedAs(row) ?? past) : `${ATTEMPTS[result]} ${infinitive}`;
  const isTargeted = text.endsWith(' …');
  return {
    verb: isTargeted ? text.slice(0, -2) : text,
    isTargeted,
    end: isTargeted ? newNameIn(row) : '',
  };
}

type Result = AuditRow['result'];

type Success = Extract<Result, 'done' | 'repeated'>;

function isSuccess(result: Result): result is Success {
  return result === 'done' || result === 'repeated';
}

/** Verbs before the infinitive of an action that did not succeed, or not yet. */
const ATTEMPTS: Readonly<Record<Exclude<Result, Success>, string>> = {
  refused: 'tried to',
  failed: 'tried to',
  running: 'began to',
  unknown: 'began to',
};

/** Words for actions that have another meaning with some targets and details. */
function endedAs({ action, target, after }: AuditRow): string | undefined {
  // A fork has a row for its parent, and a row for the new instance, which has a name.
  if (action === 'instance.fork' && after?.['name'] !== undefined) return 'created the fork …';
  if (action !== 'session.end') return undefined;
  if (target === undefined) return 'signed out';
  return target.id === 'others' ? 'ended all own other sessions' : 'ended an own session';
}

/** New name, if the action gave one: ` to “worker”`. */
function newNameIn({ before, after }: AuditRow): string {
  const [was, is] = [before?.['name'], after?.['name']];
  return typeof was === 'string' && typeof is === 'string' && was !== is ? ` to “${is}”` : '';
}

/** Text for an actor without a name. */
export function actorText({ kind, id }: AuditRow['actor']): string {
  switch (kind) {
    case 'user':
      return 'A deleted user';
    case 'key':
      return id === undefined ? 'A key' : 'An unnamed key';
    case 'operator':
      return 'An operator';
    case 'provider':
      return 'The payment provider';
    case 'service':
      return 'The service';
    default:
      return 'Somebody without a session';
  }
}
